"""Folders that look like exports of word vectors, as far as these are read from them."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import tensorflow as tf


def write_export(
    folder: Path,
    words: Sequence[str],
    vectors: np.ndarray,
    *,
    counts: Sequence[int] | None = None,
    tensor: str = "word_vectors",
) -> None:
    """Writes a version's folder.

    Args:
        folder: to be made.
        words, vectors: what it holds.
        counts: of the words; 1 each by default.
        tensor: the name of the vectors.
    """
    for name in ("variables", "assets", "assets.extra"):
        (folder / name).mkdir(parents=True)
    tf.train.Checkpoint(weights=[tf.Variable(vectors)]).write(str(folder / "variables/variables"))
    (folder / "assets.extra/weights.json").write_text(json.dumps({"model": "skip_gram", "weights": [tensor]}))
    lines = zip(words, counts or [1] * len(words), strict=True)
    (folder / "assets/vocabulary.tsv").write_text("".join(f"{word}\t{count}\n" for word, count in lines))
