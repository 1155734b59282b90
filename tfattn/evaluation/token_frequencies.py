"""Token frequencies, and the loss of a guess by them."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tfattn.data.reader import Reader

MAX_BATCHES = 1000  # of a split's records, by which tokens are counted


def counted(reader: Reader, told: Callable[[Mapping[str, Any]], np.ndarray], vocabulary_size: int) -> np.ndarray:
    """Count how often each token is predicted in the records of a split.

    Args:
        reader: of the records.
        told: gives the ids (N,) of the tokens of a batch that are predicted.
        vocabulary_size: V.

    Returns:
        (V,) float64.
    """
    counts = np.zeros(vocabulary_size)
    for batch in reader.dataset(0).take(MAX_BATCHES):
        counts += np.bincount(told(batch), minlength=vocabulary_size)
    return counts


def surprise(in_training: np.ndarray, measured: np.ndarray) -> float:
    """Compute the loss of a guess by the frequencies in training, summed over all tokens that are measured, in nats.

    To each frequency one is added, so that no token is impossible.

    Args:
        in_training, measured: (V,), as `counted` returns them.
    """
    likely = (in_training + 1) / (in_training + 1).sum()
    return float(-(measured * np.log(likely)).sum())
