"""Import of native libraries, which take seconds to load and write to standard error."""

import contextlib
import gc
import importlib
import importlib.util
import logging
import os
import resource
import sys
from collections.abc import Iterator
from types import ModuleType

from tfattn.errors import ConfigError

# Loading TensorFlow maps 2.1 GB, and its first operation 0.4 GB more; most of this memory is never touched.
MIN_ADDRESS_SPACE = 4 << 30


@contextlib.contextmanager
def errors_hidden() -> Iterator[None]:
    """Hide standard error while the block runs, for the first import of TensorFlow.

    TensorFlow prints missing accelerators and the features of the processor. Errors are raised as usual.
    """
    sys.stderr.flush()
    kept = os.dup(2)
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, 2)
    os.close(devnull)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(kept, 2)
        os.close(kept)


def with_tensorflow(module: str) -> ModuleType:
    """Import a module that needs TensorFlow, and initialize the devices, with standard error hidden."""
    with errors_hidden(), _no_collection():
        import_tensorflow()
        import tensorflow

        loaded = importlib.import_module(module)
        tensorflow.config.list_physical_devices()
    return loaded


def import_tensorflow() -> None:
    """Import TensorFlow and tensorflow-text without their optional dependencies.

    These are Keras, with matplotlib and scikit-learn, and JAX if it is installed: up to half of the import time, and a
    third of the memory. Later imports of these packages, and tf.keras, work as usual.

    Raises:
        ConfigError: the limit of address space is so low that TensorFlow would abort the process.
    """
    logging.getLogger("absl").addFilter(_is_of_interest)
    if "tensorflow" in sys.modules:
        return
    _check_address_space()
    with _no_collection(), _absent("keras", "tensorflow_text.python.keras", "jax"):
        import tensorflow_text  # noqa: F401


def _is_of_interest(record: logging.LogRecord) -> bool:
    """Return False for TensorFlow's warning about an input whose name is not a Python name, such as a column `13`.

    The parameter of the traced function gets another name; the input of the signature keeps its name.
    """
    return "is not a valid tf.function parameter name" not in str(record.msg)


def _check_address_space() -> None:
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < MIN_ADDRESS_SPACE:
        raise ConfigError(
            "the limit of address space is too low for TensorFlow",
            expected=f"at least {MIN_ADDRESS_SPACE:,} bytes",
            received=f"{limit:,}",
            remedy="Raise the limit (`ulimit -v`, `prlimit --as`); to limit memory itself, use a control group.",
        )


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """Disable garbage collection while the block loads TensorFlow, and exclude the loaded objects afterwards.

    Collections find nothing there, and take a third of the time.
    """
    if "tensorflow" in sys.modules or not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


@contextlib.contextmanager
def _absent(*names: str) -> Iterator[None]:
    """Replace modules that are not loaded by empty modules while the block runs."""
    empty = {name: ModuleType(name) for name in names if name not in sys.modules}
    for name, module in empty.items():
        # TensorFlow uses the location of the package to find tensorflow.keras.
        module.__spec__ = None if "." in name else importlib.util.find_spec(name)
    sys.modules.update(empty)
    try:
        yield
    finally:
        for name in empty:
            del sys.modules[name]
