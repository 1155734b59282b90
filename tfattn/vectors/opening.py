"""Opening of word vectors by file, by the name of a package, or by the folder or name of an export."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from tfattn import files, native
from tfattn.catalog import VECTOR_PACKAGES
from tfattn.errors import CheckpointError, ConfigError, nearest
from tfattn.features import SUBWORD_VECTORS, WORD_VECTORS
from tfattn.preprocessing.word_list import WordList
from tfattn.pretrained.own_export import OwnExport
from tfattn.pretrained.packages import vectors_path
from tfattn.vectors import word_files
from tfattn.vectors.word_vectors import WordVectors

SAVED_MODELS = Path("saved_models")


def open_vectors(model: str, folder: Path = SAVED_MODELS) -> WordVectors:
    """Read word vectors into memory.

    Args:
        model: a file or folder (see `word_files.read`), a name of catalog.VECTOR_PACKAGES, the address of a file on a
            hub, the folder of an export, or its name.
        folder: the folder of all exports.

    Raises:
        ConfigError: there is no such model, which suggests the nearest name; or its package is not installed.
        DataError: the file is damaged, or has no word vectors.
        CheckpointError: the export is damaged, or has no word vectors.
    """
    if word_files.is_readable(path := vectors_path(model)):
        return word_files.read(path)
    export = _export(model, folder)
    rows, _ = _shape(export)
    words, counts = WordList.read(export.folder / "assets")
    if rows != len(words):
        raise CheckpointError(
            "the words and vectors of the export do not match",
            where=str(export.folder),
            expected=f"a vector for each of {len(words):,} words",
            received=f"{rows:,} vectors",
            remedy="Export the model again.",
        )
    has_subwords = SUBWORD_VECTORS in export.stored_shapes()
    vectors = export.read([WORD_VECTORS, SUBWORD_VECTORS] if has_subwords else [WORD_VECTORS])
    subword_vector = None
    if has_subwords:
        subword_vector = _subword_vector(export.folder / "assets", vectors[SUBWORD_VECTORS])
    return WordVectors(words, np.asarray(vectors[WORD_VECTORS], "float32"), counts, subword_vector)


def vector_width(model: str, folder: Path = SAVED_MODELS) -> int:
    """Return the dimension of word vectors without reading them; arguments and errors as `open_vectors`."""
    if word_files.is_readable(path := vectors_path(model)):
        return word_files.vector_width(path)
    _, width = _shape(_export(model, folder))
    return width


def _export(model: str, folder: Path) -> OwnExport:
    for path in (Path(model), folder / model):
        if path.is_dir() and OwnExport.matches(path):
            return OwnExport(path)
    known = [path.name for path in sorted(folder.iterdir()) if files.numbered(path)] if folder.is_dir() else []
    raise ConfigError(
        "there are no such word vectors",
        expected=f"a file, {', '.join(VECTOR_PACKAGES)}, hf://OWNER/NAME/FILE, the folder of an export, or an export "
        f"in {folder}/: {', '.join(known) or 'there are none yet'}",
        received=repr(model),
        remedy=nearest(model, [*VECTOR_PACKAGES, *known]) or files.similar_path(model),
    )


def _subword_vector(assets: Path, vectors: np.ndarray) -> Callable[[str], np.ndarray | None]:
    """Return a function that computes the vector of a word, (D,), as the mean of the vectors of its n-grams.

    Args:
        assets: the saved preprocessor, which maps n-grams to ids.
        vectors: (buckets, D), the vectors of n-grams.
    """
    import tensorflow as tf  # imported here: files are read without TensorFlow

    from tfattn.preprocessing.corpus_words import CorpusWords

    preprocessor = CorpusWords()
    preprocessor.load(assets)

    def compute(word: str) -> np.ndarray | None:
        (ids,) = preprocessor.subword_ids(tf.constant([word])).numpy()
        ids = ids[ids >= 0]
        return vectors[ids].mean(axis=0) if len(ids) else None

    return compute


def _shape(export: OwnExport) -> tuple[int, int]:
    """Return the number of vectors and their width."""
    with native.errors_hidden():
        native.import_tensorflow()
    shape = export.stored_shapes().get(WORD_VECTORS, ())
    if len(shape) != 2:
        raise CheckpointError(
            "the export has no word vectors",
            where=str(export.folder),
            expected=f"a model of word vectors, with the tensor `{WORD_VECTORS}`",
        )
    return shape
