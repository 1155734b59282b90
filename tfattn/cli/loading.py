"""What commands import when they run, and not before: TensorFlow takes seconds."""

import sys
from pathlib import Path
from typing import Any

from tfattn import registry


def stages(plugins: list[str] | None = None) -> Any:
    """Import the stages, with the user's own classes in the catalog."""
    stages = with_tensorflow("tfattn.stages")
    for entry in register(plugins):
        registry.find(*entry)  # not only when it is needed, which may be after hours of training
    return stages


def register(plugins: list[str] | None) -> list[tuple[str, str]]:
    """Put the user's own classes into the catalog; what their text says to be wrong is said at once."""
    from tfattn.config.constructors import constructor

    if plugins:
        sys.path.insert(0, "")  # they may stand in the current folder
    entries = [registry.register(plugin) for plugin in plugins or ()]
    for entry in entries:
        constructor(*entry)
    return entries


def resolved(pipeline: Path, overrides: list[str] | None) -> Any:
    """Read and check a pipeline file, without building its parts."""
    from tfattn.config.resolve import resolve

    return resolve(pipeline, overrides)


def serving() -> Any:
    """Import the commands that need no pipeline, and nothing of what trains."""
    from tfattn.serving import commands

    return commands


def with_tensorflow(module: str) -> Any:
    """Import a module that needs TensorFlow, and hide what its libraries say as they are loaded."""
    import tfattn.console  # noqa: F401 (it looks at standard error as it is made: not while that is hidden)
    from tfattn import native

    return native.with_tensorflow(module)
