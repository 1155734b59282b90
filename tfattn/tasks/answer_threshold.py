"""The threshold of an answer's margin over no answer, chosen to maximize F1."""

from collections.abc import Sequence

import numpy as np

from tfattn.tasks.answer_metrics import Units, exact_match, f1
from tfattn.tasks.operating_point import OperatingPoint


def choose(
    margins: np.ndarray, given: Sequence[str], answers: Sequence[Sequence[str]], *, units: Units = "words"
) -> OperatingPoint:
    """Find the smallest margin at which an answer is given that maximizes the mean F1 over all rows.

    The threshold is halfway between two margins, so that rounding cannot change an answer. Of equally good thresholds
    the lowest is returned.

    Args:
        margins: (N,), the score of the best span minus the score of no answer.
        given: N best spans.
        answers: the references of each row; an unanswerable row has none.
        units: the units that F1 compares.

    Example:
        >>> choose(np.array([3.0, 1.0]), ["Rome", "Bonn"], [["Rome"], []]).threshold
        2.0
    """
    gains = [
        f1(text, references, units=units) - f1("", references, units=units)
        for text, references in zip(given, answers, strict=True)
    ]
    order = np.argsort(-margins, kind="stable")
    sums = np.concatenate([[0.0], np.cumsum(np.array(gains)[order])])  # of the rows with the highest margins
    count = len(sums) - 1 - int(np.argmax(sums[::-1]))
    highest = margins[order].astype(float)
    if count == 0:
        threshold = highest[0] + 1.0
    elif count == len(highest):
        threshold = highest[-1] - 1.0
    else:
        threshold = (highest[count - 1] + highest[count]) / 2
    chosen = ["" if margin < threshold else text for margin, text in zip(margins, given, strict=True)]
    pairs = list(zip(chosen, answers, strict=True))
    metrics = {name: float(np.mean([of(*pair, units=units) for pair in pairs])) for name, of in _METRICS.items()}
    return OperatingPoint(float(threshold), metrics)


_METRICS = {"f1": f1, "exact_match": exact_match}
