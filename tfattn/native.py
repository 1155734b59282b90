"""Native libraries, which write to standard error before any setting can stop them, and take seconds to load."""

import contextlib
import gc
import importlib
import importlib.util
import os
import resource
import sys
from collections.abc import Iterator
from types import ModuleType

from tfattn.errors import ConfigError

# Loading TensorFlow maps 2.1 GB and its first operation 0.4 GB more, most of which is never touched.
MIN_ADDRESS_SPACE = 4 << 30


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
    with errors_hidden(), _no_garbage():
        import_tensorflow()
        import tensorflow

        loaded = importlib.import_module(module)
        tensorflow.config.list_physical_devices()
    return loaded


def import_tensorflow() -> None:
    """Import TensorFlow and tensorflow-text without what they load but do not need.

    That is Keras, with it matplotlib and scikit-learn, and JAX where it is installed: up to half of the time, and a
    third of the memory that the process has for itself. Who imports them afterwards, or asks for tf.keras, gets them.

    Raises:
        ConfigError: the process may have so little address space that TensorFlow would abort it.
    """
    if "tensorflow" in sys.modules:
        return
    _check_address_space()
    with _no_garbage(), _absent("keras", "tensorflow_text.python.keras", "jax"):
        import tensorflow_text  # noqa: F401


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
def _no_garbage() -> Iterator[None]:
    """Look for no garbage while the block loads TensorFlow, and never among what it has loaded.

    There is none, and to look for it time and again takes a third of the time.
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
    """Put an empty module in the place of each that is not loaded, while the block runs."""
    empty = {name: ModuleType(name) for name in names if name not in sys.modules}
    for name, module in empty.items():
        # TensorFlow asks where the package stands, to find tensorflow.keras in it.
        module.__spec__ = None if "." in name else importlib.util.find_spec(name)
    sys.modules.update(empty)
    try:
        yield
    finally:
        for name in empty:
            del sys.modules[name]
