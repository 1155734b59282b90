"""The lines of predictions.jsonl of those who give every row a label."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfattn.features import LABEL, TARGET

KEPT_SCORES = 5


def label_line(
    row: dict[str, str], labels: Sequence[str], *, true: int, given: int, scores: np.ndarray
) -> dict[str, Any]:
    """Make the line of a raw row: its right label as `target`, its prediction, and the highest scores.

    Args:
        row: the raw row.
        labels: the C labels in the order of their ids.
        true, given: the ids of its right label and of the one that it was given.
        scores: (C,).

    Example:
        >>> label_line({"text": "x"}, ["no", "yes"], true=0, given=1, scores=np.array([0.25, 0.75]))
        {'text': 'x', 'target': 'no', 'predicted': 'yes', 'right': False, 'scores': {'yes': 0.75, 'no': 0.25}}
    """
    return {
        **{role: value for role, value in row.items() if role != LABEL},
        TARGET: labels[true],
        "predicted": labels[given],
        "right": bool(true == given),
        "scores": best_scores(labels, scores),
    }


def best_scores(labels: Sequence[str], scores: np.ndarray) -> dict[str, float]:
    """Keep the highest of the scores (C,) of a row, by label."""
    best = np.argsort(-scores, kind="stable")[:KEPT_SCORES]
    return {labels[place]: round(float(scores[place]), 6) for place in best}
