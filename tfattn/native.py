"""Native libraries, which write to standard error before any setting can stop them."""

import contextlib
import importlib
import os
import sys
from collections.abc import Iterator
from types import ModuleType


@contextlib.contextmanager
def errors_hidden() -> Iterator[None]:
    """Hide standard error while the block runs, for the first import of TensorFlow.

    It notes missing accelerators and what the processor can do. What goes wrong is raised as ever.
    """
    sys.stderr.flush()
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    os.close(nowhere)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(kept, 2)
        os.close(kept)


def with_tensorflow(module: str) -> ModuleType:
    """Import a module that needs TensorFlow, and let TensorFlow find its devices, with standard error hidden."""
    with errors_hidden():
        import tensorflow

        loaded = importlib.import_module(module)
        tensorflow.config.list_physical_devices()
    return loaded
