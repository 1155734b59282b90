"""The process of one version: it loads the model, warms it up, and answers until the server closes the channel.

Each version has its own process, because TensorFlow does not free the memory of a model, and because a model that
crashes ends only its own process. While a version is available, the next one loads at low priority so that requests
do not slow down.
"""

import os
import signal
import socket
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tfattn.litert import Engine
from tfattn.serving.engine.channel import Channel
from tfattn.serving.generation.request import TextLimits

NICENESS = 5  # lets the server process answer and refuse requests while models compute


def main(
    channel: socket.socket,
    errors: socket.socket,
    folder: Path,
    engine: Engine,
    threads: int,
    allow_operations: Collection[str],
    limits: TextLimits,
    low_priority: bool,
) -> None:
    """Load a model and answer requests until the server closes the channel.

    Args:
        channel: the socket to the server.
        errors: the socket that receives standard error.
        folder: the version's folder.
        engine: see `open_engine`.
        threads: the number of requests that are computed at a time.
        allow_operations: the operations to allow although they have side effects.
        limits: the limits of generated text.
        low_priority: whether to load only while the machine is otherwise idle.
    """
    from tfattn.serving.engine import hosting  # imports TensorFlow, which the server process does not need

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # on Ctrl-C the server ends its processes itself
    with open(os.devnull, "r+b") as nothing:
        for stream, number in ((nothing, 0), (nothing, 1), (errors, 2)):
            os.dup2(stream.fileno(), number)
    errors.close()
    with ThreadPoolExecutor(1, initializer=_set_idle_priority if low_priority else None) as background:
        options = {"engine": engine, "threads": threads, "allow_operations": allow_operations, "limits": limits}
        hosting.host(folder, Channel(channel), background=background, on_ready=_set_niceness, **options)
    for thread in _threads():  # freeing the memory takes time, too
        _set_idle_priority(thread)
    os._exit(0)  # all output is flushed, and TensorFlow's own shutdown would take a second


def _threads() -> list[int]:
    return list(map(int, os.listdir("/proc/self/task")))


def _set_niceness() -> None:
    """Set the niceness of all threads, and of the threads that they start."""
    for thread in _threads():
        os.setpriority(os.PRIO_PROCESS, thread, NICENESS)


def _set_idle_priority(thread: int = 0) -> None:
    """Schedule a thread (by default the calling thread) and the threads it starts only while the machine is idle."""
    os.sched_setscheduler(thread, os.SCHED_IDLE, os.sched_param(0))
