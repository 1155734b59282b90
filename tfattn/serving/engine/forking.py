"""The process from which those of versions are forked: it loads TensorFlow once, for all of them."""

import multiprocessing
from multiprocessing import forkserver

FORKS = multiprocessing.get_context("forkserver")
PRELOADED = ["tfattn.serving.engine.preload"]


def start() -> None:
    """Start it if it is not running; a caller that starts early can load TensorFlow at the same time."""
    FORKS.set_forkserver_preload(PRELOADED)
    forkserver.ensure_running()
