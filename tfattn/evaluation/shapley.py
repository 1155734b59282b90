"""Shapley values of a score, estimated by permutation sampling."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tfattn.evaluation.permutation_importance import t_interval

ScoreCoalitions = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class ShapleyValues:
    """The Shapley values of K units, which sum to `score` minus `base`.

    Attributes:
        values: (K,).
        low, high: (K,) each, the ends of the 95 % intervals of the values over more samples; see `t_interval`.
        score: the score with all units.
        base: the mean score without units.
        evaluations: the number of scores that were computed.
    """

    values: np.ndarray
    low: np.ndarray
    high: np.ndarray
    score: float
    base: float
    evaluations: int


def shapley_values(
    score: ScoreCoalitions, size: int, *, samples: int, num_backgrounds: int = 1, seed: int = 0
) -> ShapleyValues:
    """Estimate Shapley values: the mean change of the score when a unit joins the units before it in a random order.

    A sample is a background, a random order and its reverse (an antithetic pair, which has a smaller variance). The
    values of each sample sum to its score with all units minus its score without units, so their means do as well.
    Backgrounds are used equally often, as far as the number of samples allows.

    Sources: Strumbelj and Kononenko 2014, "Explaining prediction models and individual predictions with feature
    contributions", algorithm 1; antithetic pairs: Mitchell et al. 2022, "Sampling permutations for Shapley value
    estimation", section 2.2.

    Args:
        score: returns the scores (N,) of coalitions (N, K) bool, the units that are present, with the index (N,) of the
            background that replaces the others.
        size: K, at least 1.
        samples: the number of samples, at least 2.
        num_backgrounds: the number of backgrounds.
        seed: the random seed.

    Example:
        >>> found = shapley_values(lambda present, _: present @ np.array([3.0, -1.0]), 2, samples=2)
        >>> found.values, found.score - found.base
        (array([ 3., -1.]), 2.0)
    """
    rng = np.random.default_rng(seed)
    backgrounds = np.resize(rng.permutation(num_backgrounds), samples)
    orders = np.array([rng.permutation(size) for _ in range(samples)])
    ranks = np.argsort(np.concatenate([orders, orders[:, ::-1]]), axis=1)  # (2 S, K), the position of each unit
    present = ranks[:, None, :] < np.arange(size + 1)[:, None]  # (2 S, K + 1, K), after each step of an order
    drawn = np.repeat(np.tile(backgrounds, 2), size + 1)
    scores, evaluations = _score_distinct(score, present.reshape(-1, size), drawn)
    scores = scores.reshape(2 * samples, size + 1)
    joined = np.take_along_axis(np.diff(scores, axis=1), ranks, axis=1)  # (2 S, K), the change by each unit
    each = joined.reshape(2, samples, size).mean(axis=0)
    low, high = t_interval(each)
    return ShapleyValues(
        each.mean(axis=0), low, high, float(scores[0, -1]), float(scores[:samples, 0].mean()), evaluations
    )


def _score_distinct(score: ScoreCoalitions, present: np.ndarray, drawn: np.ndarray) -> tuple[np.ndarray, int]:
    """Score coalitions, each once; the background of a coalition of all units has no effect."""
    drawn = np.where(present.all(axis=1), 0, drawn)
    keys = np.concatenate([np.packbits(present, axis=1), drawn.astype(">u4").view(np.uint8).reshape(-1, 4)], axis=1)
    _, first, which = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    return score(present[first], drawn[first])[which.reshape(-1)], len(first)
