"""Minimal folders of exports of word vectors."""

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
    """Write the folder of a version.

    Args:
        folder: the new folder.
        words, vectors: its content.
        counts: the counts of the words; by default 1 each.
        tensor: the name of the vectors.
    """
    for name in ("variables", "assets", "assets.extra"):
        (folder / name).mkdir(parents=True)
    tf.train.Checkpoint(weights=[tf.Variable(vectors)]).write(str(folder / "variables/variables"))
    (folder / "assets.extra/weights.json").write_text(json.dumps({"model": "skip_gram", "weights": [tensor]}))
    lines = zip(words, counts or [1] * len(words), strict=True)
    (folder / "assets/vocabulary.tsv").write_text("".join(f"{word}\t{count}\n" for word, count in lines))
