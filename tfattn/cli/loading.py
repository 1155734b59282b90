"""Deferred imports of commands: importing TensorFlow takes seconds."""

import importlib.util
import sys
from pathlib import Path
from typing import Any

from tfattn import hub, registry
from tfattn.catalog import PRETRAINED_PACKAGES

WEIGHTS_SETTINGS = ("config.json", "bert_config.json")  # of folders with published weights
GGUF = ".gguf"
LITERT = "litert"  # the folder, among exports, of exports without a SavedModel


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


def resolved(pipeline: str, overrides: list[str] | None) -> Any:
    """Resolve and check a pipeline file, without building its parts."""
    from tfattn.config.resolve import resolve

    return resolve(pipeline, overrides)


def serving() -> Any:
    """Import the commands of serving, without training."""
    from tfattn.serving import commands

    return commands


def exported(model: str, folder: Path, *, task: str = "language_modeling", for_litert: bool = False) -> str:
    """Return the export of a published model, which is exported first if there is none yet; other models as given.

    Args:
        model: a name of PRETRAINED_PACKAGES, an address on a hub, a folder with weights, a GGUF file, or another model.
        folder: the folder of all exports.
        task, for_litert: as for `published.export`.
    """
    options = {"task": task, "for_litert": for_litert}
    if hub.is_address(model):
        return str(with_tensorflow("tfattn.published").find_or_export(model, folder=folder, **options))
    if (name := _published_name(model)) is None:
        return model
    if not (folder / name).is_dir():
        with_tensorflow("tfattn.published").export(model, folder=folder, name=name, **options)
    return name


def exported_decoder(model: str, folder: Path, engine: str) -> str:
    """Return the export of a published decoder for an engine, as `exported`.

    LiteRT needs no SavedModel, which takes longer to write. Its exports are in the folder `litert` among the exports,
    where model servers do not look.

    Args:
        model, folder: as for `exported`.
        engine: "litert", "tensorflow", or "auto" for LiteRT if it is installed and there is no SavedModel yet.
    """
    name = _published_name(model)
    if name is None or engine == "tensorflow" or (engine == "auto" and not _prefers_litert(folder / name)):
        return exported(model, folder)
    found = exported(model, folder / LITERT, for_litert=True)
    return found if hub.is_address(model) else str(folder / LITERT / found)


def generation() -> Any:
    """Import text generation in the terminal."""
    from tfattn.serving.client import generate

    return generate


def _published_name(model: str) -> str | None:
    """Return the name of the export of a published model; None for other models."""
    if hub.is_address(model):
        return hub.parse(model).name.removesuffix(GGUF)
    path = Path(model)
    is_published = _has_weights(path) or (model in PRETRAINED_PACKAGES and not path.is_dir())
    return path.resolve().name.removesuffix(GGUF) if is_published else None


def _prefers_litert(exported: Path) -> bool:
    """Return whether LiteRT is installed and there is neither a SavedModel nor an accelerator for TensorFlow."""
    is_installed = importlib.util.find_spec("ai_edge_litert") is not None
    return is_installed and not exported.is_dir() and not Path("/dev/nvidiactl").exists()


def _has_weights(path: Path) -> bool:
    """Return whether a path is a GGUF file, the folder of one, or a folder of published weights with its settings."""
    if path.is_file():
        return path.suffix == GGUF
    return any((path / name).is_file() for name in WEIGHTS_SETTINGS) or any(path.glob(f"*{GGUF}"))


def with_tensorflow(module: str) -> Any:
    """Import a module that needs TensorFlow, and hide the messages of its libraries."""
    import tfattn.console  # noqa: F401 (before standard error is hidden, because it inspects standard error)
    from tfattn import native

    return native.with_tensorflow(module)
