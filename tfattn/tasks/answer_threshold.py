"""By how much an answer has to be better than none, chosen so that F1 is the highest."""

from collections.abc import Sequence

import numpy as np

from tfattn.tasks.answer_metrics import Units, exact_match, f1
from tfattn.tasks.operating_point import OperatingPoint


def choose(
    margins: np.ndarray, given: Sequence[str], answers: Sequence[Sequence[str]], *, units: Units = "words"
) -> OperatingPoint:
    """Find the margin from which on an answer is given, so that the mean F1 over all rows is the highest.

    It stands in the middle between two margins, so that rounding does not turn an answer; of several that are as good,
    the lowest.

    Args:
        margins: (N,), by how much the best span scores above no answer.
        given: N best spans.
        answers: of each row those that are right, none where it cannot be answered.
        units: what is compared.

    Example:
        >>> choose(np.array([3.0, 1.0]), ["Rome", "Bonn"], [["Rome"], []]).threshold
        2.0
    """
    gains = [
        f1(one, right, units=units) - f1("", right, units=units) for one, right in zip(given, answers, strict=True)
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
    chosen = ["" if margin < threshold else one for margin, one in zip(margins, given, strict=True)]
    pairs = list(zip(chosen, answers, strict=True))
    metrics = {name: float(np.mean([of(*pair, units=units) for pair in pairs])) for name, of in _METRICS.items()}
    return OperatingPoint(float(threshold), metrics)


_METRICS = {"f1": f1, "exact_match": exact_match}
