"""Vectors of unknown words from character n-grams. A module of its own, because it imports TensorFlow."""

from pathlib import Path

import numpy as np
import tensorflow as tf

from tfattn.preprocessing.corpus_words import CorpusWords


class SubwordVectors:
    """The mean of the n-gram vectors of a word.

    Args:
        assets: the saved preprocessor, which maps n-grams to ids.
        vectors: (buckets, D), the vectors of n-grams.

    Call arguments:
        word: the word, before normalization.

    Returns:
        (D,) float32; None if the word has no n-grams.
    """

    def __init__(self, assets: Path, vectors: np.ndarray):
        self._preprocessor = CorpusWords()
        self._preprocessor.load(assets)
        self._vectors = vectors

    def __call__(self, word: str) -> np.ndarray | None:
        (ids,) = self._preprocessor.subword_ids(tf.constant([word])).numpy()
        ids = ids[ids >= 0]
        return self._vectors[ids].mean(axis=0) if len(ids) else None
