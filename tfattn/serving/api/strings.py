"""Arrays of texts, which are `bytes` objects."""

from collections.abc import Sequence

import numpy as np


def strings(values: Sequence[bytes]) -> np.ndarray:
    """Convert a sequence to a flat array of `bytes` objects."""
    array = np.empty(len(values), object)
    array[:] = values
    return array
