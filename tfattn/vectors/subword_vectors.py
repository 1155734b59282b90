"""Vectors of words that no text had, made of those of the n-grams of their characters."""

from pathlib import Path

import numpy as np
import tensorflow as tf

from tfattn.preprocessing.corpus_words import CorpusWords


class SubwordVectors:
    """Makes the vector of a word: the mean of those of its n-grams.

    Args:
        assets: the folder in which the preprocessor was saved that numbered the n-grams.
        vectors: (buckets, D), of each of them.

    Call arguments:
        word: as a text may have it.

    Returns:
        (D,) float32; None where the word has no n-grams.
    """

    def __init__(self, assets: Path, vectors: np.ndarray):
        self._preprocessor = CorpusWords()
        self._preprocessor.load(assets)
        self._vectors = vectors

    def __call__(self, word: str) -> np.ndarray | None:
        (numbers,) = self._preprocessor.subword_ids(tf.constant([word])).numpy()
        numbers = numbers[numbers >= 0]
        return self._vectors[numbers].mean(axis=0) if len(numbers) else None
