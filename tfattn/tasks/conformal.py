"""Split conformal prediction: sets of labels and intervals with a guaranteed coverage.

A conformity score measures how well a prediction fits the true value of a calibration row. With n exchangeable
calibration rows, the prediction of a new row fits its true value at least as well as the k-th best of them with a
probability of at least the coverage, for k = ceil((n + 1) * coverage). The probability is over the draw of the
calibration rows and the new row together (marginal coverage).

Source: Vovk et al. 2005, "Algorithmic learning in a random world"; Angelopoulos and Bates 2021, "A gentle introduction
to conformal prediction and distribution-free uncertainty quantification", section 1.
"""

from collections.abc import Sequence

import numpy as np

from tfattn.errors import DataError

DIGITS = 9  # 0.9 of 10 rows is 9, though 0.9 * 10 may come out a little higher


def rank(rows: int, coverage: float) -> int:
    """Return k, the number of calibration rows whose true values must be covered; above `rows` if there are too few."""
    return int(np.ceil(round((rows + 1) * coverage, DIGITS)))


def needed_rows(coverage: float) -> int:
    """Return the smallest number of calibration rows for a coverage.

    Example:
        >>> needed_rows(0.9), needed_rows(0.99)
        (9, 99)
    """
    return int(np.ceil(round(coverage / (1 - coverage), DIGITS)))


def score_thresholds(
    scores: np.ndarray, true: np.ndarray, *, coverage: float, labels: Sequence[str], by_class: bool = False
) -> list[float]:
    """Find the score from which each label is in the prediction set.

    The conformity score of a row is the score of its true label (LAC, least ambiguous set-valued classifier). The mean
    size of the sets is the smallest possible if the scores are the true probabilities. A set may be empty, where no
    label has a high enough score.

    Args:
        scores: (N, C) scores of the calibration rows.
        true: (N,) ids of the true labels.
        coverage: the fraction of new rows whose set has the true label, between 0 and 1.
        labels: the C labels.
        by_class: whether the coverage holds for the rows of each label; otherwise for all rows together.

    Returns:
        C thresholds, which are equal without `by_class`.

    Raises:
        DataError: there are too few calibration rows, in total or of a label.

    Example:
        >>> scores = np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]])
        >>> score_thresholds(scores, np.array([0, 1, 1]), coverage=0.5, labels=["no", "yes"])
        [0.8, 0.8]

    Source: Sadinle, Lei and Wasserman 2019, "Least ambiguous set-valued classifiers with bounded error levels", for all
    rows together and for each label.
    """
    of_true = scores[np.arange(len(true)), true]
    groups = [of_true[true == number] for number in range(len(labels))] if by_class else [of_true] * len(labels)
    thresholds = []
    for label, found in zip(labels, groups, strict=True):
        check_rows(len(found), coverage, of=f"the label {label!r}" if by_class else "")
        thresholds.append(float(-_kth_smallest(-found, coverage)))
    return thresholds


def interval_radius(predicted: np.ndarray, true: np.ndarray, *, coverage: float) -> float:
    """Find the half width of intervals around predicted numbers.

    The conformity score of a row is its absolute error. All intervals have the same width.

    Args:
        predicted: (N,) predicted numbers of the calibration rows.
        true: (N,) true numbers.
        coverage: the fraction of new rows whose interval has the true number, between 0 and 1.

    Raises:
        DataError: there are too few calibration rows.

    Example:
        >>> interval_radius(np.zeros(3), np.array([1.0, -3.0, 2.0]), coverage=0.5)
        2.0

    Source: Lei et al. 2018, "Distribution-free predictive inference for regression", algorithm 2.
    """
    check_rows(len(true), coverage)
    return float(_kth_smallest(np.abs(predicted.astype(np.float64) - true), coverage))


def check_rows(rows: int, coverage: float, *, of: str = "") -> None:
    """Check that there are enough calibration rows for a coverage.

    Raises:
        DataError: there are not; says how many are needed.
    """
    if rows < needed_rows(coverage):
        raise DataError(
            f"there are too few calibration rows{f' of {of}' if of else ''} for a coverage of {coverage:g}",
            expected=f"at least {needed_rows(coverage):,}",
            received=f"{rows:,}",
            remedy="Raise `data.split.calibration`, or lower `calibration.coverage`.",
        )


def _kth_smallest(values: np.ndarray, coverage: float) -> np.floating:
    return np.sort(values)[rank(len(values), coverage) - 1]
