"""The fork server: the process that imports TensorFlow once and forks the processes of versions."""

import multiprocessing
from multiprocessing import forkserver

CONTEXT = multiprocessing.get_context("forkserver")
PRELOADED = ["tfattn.serving.engine.preload"]


def start() -> None:
    """Start the fork server unless it is running. An early start overlaps its imports with those of the caller."""
    CONTEXT.set_forkserver_preload(PRELOADED)
    forkserver.ensure_running()
