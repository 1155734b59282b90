"""Token frequencies, and the loss of a unigram baseline."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tfattn.data.reader import Reader

MAX_BATCHES = 1000  # of records to count


def count_tokens(
    reader: Reader, tokens_of: Callable[[Mapping[str, Any]], np.ndarray], vocabulary_size: int
) -> np.ndarray:
    """Count how often each token is predicted in the records of a split.

    Args:
        reader: the reader of the records.
        tokens_of: returns the ids (N,) of the predicted tokens of a batch.
        vocabulary_size: V.

    Returns:
        (V,) float64.
    """
    counts = np.zeros(vocabulary_size)
    for batch in reader.dataset(0).take(MAX_BATCHES):
        counts += np.bincount(tokens_of(batch), minlength=vocabulary_size)
    return counts


def unigram_loss(in_training: np.ndarray, measured: np.ndarray) -> float:
    """Compute the loss of the training frequencies, summed over all evaluated tokens, in nats.

    Counts are smoothed by adding one.

    Args:
        in_training, measured: (V,), see `count_tokens`.
    """
    likely = (in_training + 1) / (in_training + 1).sum()
    return float(-(measured * np.log(likely)).sum())
