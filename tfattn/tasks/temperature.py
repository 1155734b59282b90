"""Temperature scaling: scores that are as high as the fraction of correct predictions."""

from typing import Any

import numpy as np
from keras import ops
from scipy.optimize import brentq

MIN_SCORE = 1e-37  # float32 may round a score to 0, which has no logarithm
MAX_TEMPERATURE = 100.0


def fit_temperature(scores: np.ndarray, true: np.ndarray) -> float:
    """Find the temperature that minimizes the log loss of calibration rows.

    The log loss is convex in 1 / temperature, so that its minimum is unique. It has none if the true label has the
    highest score in every row: the temperature is then 1, which changes no score.

    Args:
        scores: (N, C) scores, which sum to 1.
        true: (N,) ids of the true labels.

    Returns:
        the temperature, between 1 / MAX_TEMPERATURE and MAX_TEMPERATURE: above 1 for scores that are too high.

    Example:
        >>> overconfident = np.array([[0.9, 0.1]] * 4)
        >>> temperature = fit_temperature(overconfident, np.array([0, 0, 0, 1]))
        >>> scale(overconfident, temperature)[0].numpy().round(3)
        array([0.75, 0.25], dtype=float32)

    Source: Guo et al. 2017, "On calibration of modern neural networks", section 4.2.
    """
    logits = np.log(np.maximum(scores.astype(np.float64), MIN_SCORE))
    logits -= logits.max(axis=1, keepdims=True)
    of_true = logits[np.arange(len(true)), true]
    if (of_true == 0).all():
        return 1.0

    def slope(log_inverse: float) -> float:
        """Compute the derivative of the log loss by 1 / temperature."""
        weights = np.exp(logits * np.exp(log_inverse))
        weights /= weights.sum(axis=1, keepdims=True)
        return float(((weights * logits).sum(axis=1) - of_true).mean())

    end = float(np.log(MAX_TEMPERATURE))
    if slope(-end) >= 0:  # worse than chance
        return MAX_TEMPERATURE
    if slope(end) <= 0:
        return 1 / MAX_TEMPERATURE
    return float(np.exp(-brentq(slope, -end, end, xtol=1e-9)))


def scale(scores: Any, temperature: float) -> Any:
    """Divide the logits of scores by a temperature; the logits are the logarithms of the scores.

    For a single model this is the softmax of its logits divided by the temperature. For several models the logits are
    those of their mean scores.

    Args:
        scores: (..., C) float32, which sum to 1.
        temperature: above 0.

    Returns:
        (..., C) float32, which sum to 1.
    """
    return ops.softmax(ops.log(ops.maximum(ops.cast(scores, "float32"), MIN_SCORE)) / temperature, axis=-1)
