"""The process of one version: it loads the model, warms it, and answers until the server closes the line.

A process a version, because TensorFlow does not give back the memory of a model, and because a model that crashes takes
only its own process along. Where a version answers already, the next one is loaded behind everything else, so that
nobody notices.
"""

import os
import signal
import socket
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tfattn.serving.engine.line import Line
from tfattn.serving.generation.request import TextLimits

NICENESS = 5  # below the server's, which must answer, refuse and stay alive while models compute


def main(
    line: socket.socket,
    errors: socket.socket,
    folder: Path,
    threads: int,
    allow_operations: Collection[str],
    limits: TextLimits,
    gently: bool,
) -> None:
    """Run until the server closes the line.

    Args:
        line: to the server.
        errors: where standard error goes.
        folder: the version's folder.
        threads: how many requests are computed at a time.
        allow_operations: the operations that the model may have although they do more than compute.
        limits: of the texts that are written step by step.
        gently: whether to load when nothing else wants to run.
    """
    from tfattn.serving.engine import hosting  # TensorFlow, which the server need not load for this file

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends its processes in good order
    with open(os.devnull, "r+b") as nothing:
        for stream, number in ((nothing, 0), (nothing, 1), (errors, 2)):
            os.dup2(stream.fileno(), number)
    errors.close()
    os.nice(NICENESS)
    with ThreadPoolExecutor(1, initializer=_run_when_idle if gently else None) as background:
        options = {"threads": threads, "allow_operations": allow_operations, "limits": limits}
        hosting.host(folder, Line(line), background=background, **options)
    for thread in os.listdir("/proc/self/task"):  # giving back the memory takes a while, too
        _run_when_idle(int(thread))
    os._exit(0)  # nothing is left to write, and TensorFlow would take a second to take itself apart


def _run_when_idle(thread: int = 0) -> None:
    """Let a thread (this one by default), and those that it starts, run only when the machine is idle."""
    os.sched_setscheduler(thread, os.SCHED_IDLE, os.sched_param(0))
