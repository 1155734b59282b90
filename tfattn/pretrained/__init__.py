"""Loading of published weights, from tensors and JSON only: no file can run code."""

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from tfattn import catalog, files, hub, native
from tfattn.errors import ConfigError, nearest
from tfattn.pretrained.formats import find_format
from tfattn.pretrained.packages import folder_of


def open(name_or_folder: str | Path) -> Any:  # noqa: A001 (read as pretrained.open)
    """Open published weights.

    Args:
        name_or_folder: a name of catalog.PRETRAINED_PACKAGES, a folder (for GGUF a file) in a format of the catalog, or
            an address on a hub: hf://OWNER/NAME, with @REVISION, /FOLDER or /FILE.gguf if needed, or keras://PRESET.

    Returns:
        a tfattn.pretrained.contract.Pretrained, of the first format that matches the folder.

    Raises:
        ConfigError: the package is not installed, there is no such folder, or no format matches it.
        CheckpointError: the architecture is not supported; names the nearest supported one.
        HubError: a hub cannot be reached, or a file on it is damaged.

    Example:
        >>> from tfattn import pretrained
        >>> from tfattn.models.bert import Bert
        >>> weights = pretrained.open("minilm")
        >>> bert = Bert(**weights.sizes())
        >>> report = weights.load_into(bert)
    """
    name = str(name_or_folder)
    if name in catalog.VECTOR_PACKAGES:
        raise ConfigError(
            "word vectors are not a model",
            key="pretrained",
            expected=f"one of {', '.join(catalog.PRETRAINED_PACKAGES)}",
            received=name,
            remedy=f"Initialize the embeddings of a model: `embeddings: {{from: {name}}}`.",
        )
    if hub.is_address(name):
        snapshot = hub.open(name)
        weights = find_format(snapshot.path, where=name)(snapshot.path)
        weights.snapshot = snapshot
        return weights
    package = catalog.PRETRAINED_PACKAGES.get(name)
    folder = Path(name_or_folder) if package is None else folder_of(package, name=name)
    if not folder.exists():
        raise ConfigError(
            "no such pretrained weights",
            key="pretrained",
            expected=f"a folder, a GGUF file, or one of {', '.join(catalog.PRETRAINED_PACKAGES)}, hf://OWNER/NAME, "
            "keras://PRESET",
            received=name,
            remedy=nearest(name, catalog.PRETRAINED_PACKAGES) or files.similar_path(folder),
        )
    return find_format(folder)(folder)


def find(model: str, folder: Path) -> Any:
    """Open published weights as `open` does, or an export by its name.

    Args:
        model: as for `open`, or the name of an export.
        folder: the folder of all exports.

    Raises:
        ConfigError: there is no such model; suggests the nearest name. Also the errors of `open`.
    """
    if hub.is_address(model):
        return open(model)
    exports = [path.name for path in sorted(folder.iterdir()) if files.numbered(path)] if folder.is_dir() else []
    if model not in catalog.PRETRAINED_PACKAGES and model in exports:
        return open(folder / model)
    if model in catalog.PRETRAINED_PACKAGES or Path(model).exists():
        return open(model)
    known = [*catalog.PRETRAINED_PACKAGES, *exports]
    raise ConfigError(
        "there is no such model",
        expected=f"a published model ({', '.join(catalog.PRETRAINED_PACKAGES)}, hf://OWNER/NAME or keras://PRESET), a "
        f"folder of weights, or an export in "
        f"{folder}/: {', '.join(exports) or 'there are none yet'}",
        received=repr(model),
        remedy=nearest(model, known),
    )


class _CallablePackage(ModuleType):
    """The package as a function: `tfattn.pretrained` is both, as the name of a package cannot be another object."""

    def __call__(self, name_or_folder: str | Path, *, max_length: int | None = None) -> Any:
        """Load published weights into a Keras model, with its preprocessor.

        Args:
            name_or_folder: as for `open`.
            max_length: the maximum number of tokens of a text; by default as in training.

        Returns:
            a `tfattn.pretrained.keras_model.PretrainedModel`.

        Raises:
            ConfigError: as `open`.
            CheckpointError: the weights cannot be read, or are incomplete.

        Example:
            >>> minilm = tfattn.pretrained("minilm")
            >>> minilm.model(minilm.preprocess(["The cat sleeps."]))["sequence_output"].shape
            TensorShape([1, 6, 384])
        """
        weights = open(name_or_folder)
        return native.with_tensorflow("tfattn.pretrained.keras_model").load(weights, max_length=max_length)


sys.modules[__name__].__class__ = _CallablePackage
