"""Confident learning: rows whose label is probably wrong, from scores of models that were not trained on the row.

Source: Northcutt, Jiang and Chuang 2021, "Confident Learning: Estimating Uncertainty in Dataset Labels". The equations
are of this paper. Scores are compared with the mean score of each class, so scores need no calibration, and rare
classes are not suspected more than frequent classes.
"""

from dataclasses import dataclass

import numpy as np

TOLERANCE = 1e-6  # of thresholds: the rounded mean of equal scores may exceed them


@dataclass(frozen=True)
class LabelErrors:
    """The label errors of N rows with C classes.

    Attributes:
        rows: (E,) indices of the rows with a probably wrong label, the most certain first.
        suggested: (N,) the class with the highest score of each row.
        margin: (N,) the score of the given label less the highest score of another class, from -1 to 1; a label error
            has a negative margin.
        thresholds: (C,) the mean score of each class in the rows with this label.
        joint: (C, C) the estimated number of rows by given label (row) and true label (column).
    """

    rows: np.ndarray
    suggested: np.ndarray
    margin: np.ndarray
    thresholds: np.ndarray
    joint: np.ndarray

    @property
    def noise(self) -> np.ndarray:
        """(C, C) the probability of each given label (row) for each true label (column)."""
        return self.joint / np.maximum(self.joint.sum(axis=0, keepdims=True), 1e-12)

    @property
    def estimated(self) -> float:
        """The estimated number of rows with a wrong label."""
        return float(self.joint.sum() - np.trace(self.joint))


def find_label_errors(given: np.ndarray, scores: np.ndarray) -> LabelErrors:
    """Find the rows whose label is probably wrong: pruning by noise rate, ranked by normalized margin.

    The result does not depend on the order of rows, except for the order of rows with the same margin. A row is only
    found if another class has a higher score than its label.

    Args:
        given: (N,) the class ids of the labels.
        scores: (N, C) the probabilities of the classes, from a model that was not trained on the row.

    Example:
        >>> scores = np.array([[0.9, 0.1]] * 4 + [[0.2, 0.8]] * 4)
        >>> find_label_errors(np.array([0, 0, 0, 1, 1, 1, 1, 1]), scores).rows
        array([3])
    """
    rows = np.arange(len(given))
    of_given = scores[rows, given]
    others = scores.copy()
    others[rows, given] = -np.inf
    margin = of_given - others.max(axis=1)
    thresholds = class_thresholds(given, scores)
    joint = calibrated_joint(confident_joint(given, scores, thresholds), np.bincount(given, minlength=len(thresholds)))
    is_error = prune_by_noise_rate(given, scores, joint) & (margin < 0)
    found = np.flatnonzero(is_error)
    return LabelErrors(
        rows=found[np.argsort(margin[found], kind="stable")],
        suggested=scores.argmax(axis=1),
        margin=margin,
        thresholds=thresholds,
        joint=joint,
    )


def class_thresholds(given: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Compute the mean score of each class in the rows with this label (equation 2); a class without rows has none.

    Args:
        given: (N,) class ids.
        scores: (N, C).

    Returns:
        (C,) the thresholds; infinite for a class without rows, so that no row is counted for it.
    """
    num_classes = scores.shape[1]
    counts = np.bincount(given, minlength=num_classes)
    sums = np.bincount(given, scores[np.arange(len(given)), given], minlength=num_classes)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.inf)


def confident_joint(given: np.ndarray, scores: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """Count rows by given label and confident class, (C, C) (equation 1).

    The confident class of a row is the class with the highest score among all classes whose score reaches the
    threshold. Rows without such a class are not counted. Each class with rows is counted at least once as its own.
    """
    num_classes = scores.shape[1]
    is_confident = scores >= thresholds - TOLERANCE
    confident = np.where(is_confident, scores, -np.inf).argmax(axis=1)
    counted = is_confident.any(axis=1)
    joint = np.zeros((num_classes, num_classes))
    np.add.at(joint, (given[counted], confident[counted]), 1)
    np.fill_diagonal(joint, np.maximum(joint.diagonal(), np.isfinite(thresholds)))
    return joint


def calibrated_joint(joint: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Scale each row of the confident joint (C, C) to the number of rows with this label (C,) (equation 3)."""
    return joint * (counts / np.maximum(joint.sum(axis=1), 1))[:, None]


def prune_by_noise_rate(given: np.ndarray, scores: np.ndarray, joint: np.ndarray) -> np.ndarray:
    """Mark the label errors of each pair of classes (section 3.2, "Prune by Noise Rate").

    For each given label and each other class, the estimated number of rows is marked: the rows with the largest
    difference of the two scores.

    Args:
        given: (N,) class ids.
        scores: (N, C).
        joint: (C, C) the estimated number of rows by given and true label.

    Returns:
        (N,) bool.
    """
    is_error = np.zeros(len(given), bool)
    for label, counts in enumerate(np.rint(joint).astype(int)):
        rows = np.flatnonzero(given == label)
        for other, count in enumerate(counts):
            if other != label and count:
                differences = scores[rows, other] - scores[rows, label]
                # Rows with equal differences are marked together, so that their order has no effect.
                is_error[rows[differences >= np.sort(differences)[-count]]] = True
    return is_error
