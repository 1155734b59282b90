"""The process of one version: it loads the model, warms it, and answers until the server closes the line.

    python -m tfattn.serving.worker SOCKET FOLDER THREADS

SOCKET is the number of an inherited socket, THREADS how many requests are computed at a time. A process a version,
because TensorFlow does not give back the memory of a model, and because a model that crashes takes only its own process
along. Loading happens on one core, so that the version that answers meanwhile has the others.
"""

import os
import socket
import sys
from pathlib import Path

from tfattn.serving.line import Line

NICENESS = 5  # below the server's, which must answer, refuse and stay alive while models compute


def main(handle: int, folder: Path, threads: int) -> None:
    """Runs until the server closes the line."""
    line = Line(socket.socket(fileno=handle))
    os.nice(NICENESS)
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    from tfattn.serving import hosting  # TensorFlow, which takes its time

    hosting.host(folder, line, threads=threads, cores=cores)
    os._exit(0)  # nothing is left to write, and TensorFlow would take a second to take itself apart


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
