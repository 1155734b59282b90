"""Word vectors by what a user calls them: a file, an export's folder, or an export's name."""

from pathlib import Path

import numpy as np

from tfattn import files, native
from tfattn.errors import CheckpointError, ConfigError, nearest
from tfattn.features import WORD_VECTORS
from tfattn.preprocessing.word_list import WordList
from tfattn.pretrained.own_export import OwnExport
from tfattn.vectors import word_files
from tfattn.vectors.word_vectors import WordVectors


def open_vectors(model: str, folder: Path) -> WordVectors:
    """Read word vectors into memory.

    Args:
        model: a file, see `word_files.read`; an export's folder, or its name.
        folder: that of all exports.

    Raises:
        ConfigError: there is no such model; suggests the nearest name.
        DataError: the file is damaged, or none of word vectors.
        CheckpointError: the export is damaged, or none of word vectors.
    """
    if Path(model).is_file():
        return word_files.read(model)
    for place in (Path(model), folder / model):
        if place.is_dir() and OwnExport.matches(place):
            return _of_export(OwnExport(place))
    known = [path.name for path in sorted(folder.iterdir()) if files.numbered(path)] if folder.is_dir() else []
    raise ConfigError(
        "there are no such word vectors",
        expected=f"a file of them, or an export: its folder, or one in {folder}/: "
        f"{', '.join(known) or 'there are none yet'}",
        received=repr(model),
        remedy=nearest(model, known),
    )


def _of_export(export: OwnExport) -> WordVectors:
    with native.errors_hidden():
        native.import_tensorflow()
    if WORD_VECTORS not in export.stored_shapes():
        raise CheckpointError(
            "the export holds no word vectors",
            where=str(export.folder),
            expected=f"a model that was trained to make them, with the tensor `{WORD_VECTORS}`",
        )
    words, counts = WordList.read(export.folder / "assets")
    vectors = np.asarray(export.read([WORD_VECTORS])[WORD_VECTORS], "float32")
    if vectors.ndim != 2 or len(vectors) != len(words):
        raise CheckpointError(
            "the export's words and vectors do not belong together",
            where=str(export.folder),
            expected=f"a vector for each of {len(words):,} words",
            received=f"a tensor of shape {vectors.shape}",
            remedy="Export the model again.",
        )
    return WordVectors(words, vectors, counts)
