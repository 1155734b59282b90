"""Rows with what is right, what was chosen, and how sure the model was of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

WORST_MISTAKES = 20  # that a report shows


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """N rows with the one that is right of C classes, or choices, and the one that was chosen.

    Args:
        rows: N raw rows: `row` (file:line) and what was read.
        true: (N,) the ids of the right ones.
        given: (N,) the ids of those that were chosen.
        scores: (N, C) how likely each is.
    """

    rows: Sequence[dict[str, Any]]
    true: np.ndarray
    given: np.ndarray
    scores: np.ndarray

    @property
    def right(self) -> np.ndarray:
        """(N,) whether the right one was chosen."""
        return self.true == self.given

    @property
    def confidence(self) -> np.ndarray:
        """(N,) the score of the one that was chosen."""
        return self.scores[np.arange(len(self.given)), self.given]

    @property
    def wrong(self) -> np.ndarray:
        """The numbers of the rows of which another one was chosen, those first of which the model was most certain."""
        wrong = np.flatnonzero(~self.right)
        return wrong[np.argsort(-self.confidence[wrong], kind="stable")]
