"""Deferred imports of commands: importing TensorFlow takes seconds."""

import sys
from pathlib import Path
from typing import Any

from tfattn import registry


def stages(plugins: list[str] | None = None) -> Any:
    """Import the stages, and register and import the user's plugins."""
    stages = with_tensorflow("tfattn.stages")
    for entry in register(plugins):
        registry.find(*entry)  # now, so that errors do not appear after hours of training
    return stages


def register(plugins: list[str] | None) -> list[tuple[str, str]]:
    """Register the user's plugins in the catalog, and check their signatures."""
    from tfattn.config.constructors import constructor

    if plugins:
        sys.path.insert(0, "")  # plugins may be in the current folder
    entries = [registry.register(plugin) for plugin in plugins or ()]
    for entry in entries:
        constructor(*entry)
    return entries


def resolved(pipeline: Path, overrides: list[str] | None) -> Any:
    """Resolve and check a pipeline file, without building its parts."""
    from tfattn.config.resolve import resolve

    return resolve(pipeline, overrides)


def serving() -> Any:
    """Import the commands of serving, without training."""
    from tfattn.serving import commands

    return commands


def with_tensorflow(module: str) -> Any:
    """Import a module that needs TensorFlow, and hide the messages of its libraries."""
    import tfattn.console  # noqa: F401 (before standard error is hidden, because it inspects standard error)
    from tfattn import native

    return native.with_tensorflow(module)
