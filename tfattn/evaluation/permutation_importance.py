"""Permutation importance: the rise of the loss when the values of a column are shuffled."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy import stats
from sklearn.metrics import average_precision_score

from tfattn.evaluation.metrics import log_loss
from tfattn.tasks.label_metrics import roc_auc
from tfattn.tasks.number_metrics import number_metrics

MIN_ROWS = 100  # however many columns there are

Row = dict[str, str]
ScoreEach = Callable[[Sequence[Row]], Sequence[np.ndarray]]


@dataclass(frozen=True)
class Measure:
    """A loss and a metric of predictions.

    Args:
        loss: the name of the loss.
        metric: the name of the metric, which is easier to interpret.
        of: returns loss and metric of true and predicted values, (N, ...) each.
    """

    loss: str
    metric: str
    of: Callable[[np.ndarray, np.ndarray], tuple[float, float]]


def of_labels(true: np.ndarray, positive: int | None) -> Measure:
    """Return the measure of label scores (N, C): log loss, and the ROC AUC of a positive label, or accuracy.

    Args:
        true: (N,) ids of the true labels; the metric is accuracy if all or none are positive.
        positive: id of the positive label, or None.
    """

    def accuracy(true: np.ndarray, scores: np.ndarray) -> tuple[float, float]:
        return log_loss(true, scores), np.mean(scores.argmax(axis=1) == true)

    def area(true: np.ndarray, scores: np.ndarray) -> tuple[float, float]:
        return log_loss(true, scores), roc_auc(true == positive, scores[:, positive])

    if positive is None or np.all(true == positive) or not np.any(true == positive):
        return Measure("log loss", "accuracy", accuracy)
    return Measure("log loss", "ROC AUC", area)


def of_label_sets() -> Measure:
    """Return the measure of multi-label scores (N, C): log loss and micro average precision."""

    def measured(true: np.ndarray, scores: np.ndarray) -> tuple[float, float]:
        return log_loss(true > 0, scores), average_precision_score(true, scores, average="micro")

    return Measure("log loss", "average precision", measured)


def of_numbers(deviation: float) -> Measure:
    """Return the measure of predicted numbers (N,): squared error in units of a squared deviation, and R2."""

    def measured(true: np.ndarray, predicted: np.ndarray) -> tuple[float, float]:
        metrics = number_metrics(true, predicted)
        return (metrics["root_mean_squared_error"] / deviation) ** 2, metrics["r2"]

    return Measure("squared error", "R2", measured)


@dataclass(frozen=True)
class Importance:
    """The importance of K columns for a model, by R random permutations per column.

    Attributes:
        columns: K names.
        rises: (R, K) the increase of the loss.
        drops: (R, K) the decrease of `metric`.
        loss, metric: their names.
        rows: the number of rows.
    """

    columns: Sequence[str]
    rises: np.ndarray
    drops: np.ndarray
    loss: str
    metric: str
    rows: int

    @property
    def mean(self) -> np.ndarray:
        """(K,) the mean rise of the loss."""
        return self.rises.mean(axis=0)

    @property
    def interval(self) -> tuple[np.ndarray, np.ndarray]:
        """The ends of the 95 % interval of the mean rise over all permutations, (K,) each: see `t_interval`."""
        return t_interval(self.rises)

    @property
    def important(self) -> np.ndarray:
        """The indices of the columns with an interval above 0, the most important first."""
        order = np.argsort(-self.mean, kind="stable")
        return order[self.interval[0][order] > 0]


@dataclass(frozen=True)
class Stability:
    """The agreement of models with different seeds on the important columns.

    Attributes:
        correlation: mean Spearman rank correlation of all pairs of models: 1 for equal rankings, about 0 by chance.
        first: the number of top columns.
        among_first: (K,) fraction of the models with the column among their top columns.
    """

    correlation: float
    first: int
    among_first: np.ndarray


def permutation(
    score_each: ScoreEach,
    rows: Sequence[Row],
    columns: Sequence[str],
    true: np.ndarray,
    *,
    measure: Measure,
    repeats: int = 10,
    most_rows: int = 1000,
    most_predictions: int | None = None,
    seed: int,
) -> list[Importance]:
    """Measure the permutation importance of columns for an ensemble and for each member.

    Columns are ranked by the rise of the loss, which reacts to every change of a score. ROC AUC and accuracy may not:
    a model that separates all rows keeps a ROC AUC of 1 while its scores shrink, and accuracy changes only with rows
    near the decision boundary. The drop of the metric is returned too, because it is easier to interpret. Correlated
    columns replace each other, so each may appear less important than both together.

    Sources: Breiman 2001, "Random forests", section 10; Fisher et al. 2019, "All models are wrong, but many are
    useful", section 3, with the difference instead of the ratio, which is undefined for a loss of 0.

    Args:
        score_each: returns the predictions (N, ...) of each of M members for raw rows; the ensemble predicts their
        mean. rows: N raw rows that are no training rows.
        columns: the K columns to permute.
        true: (N, ...) true values.
        measure: the loss and the metric.
        repeats: R, permutations per column, at least 2; `score_each` gets R N rows at a time.
        most_rows: the maximum number of rows; more rows are sampled.
        most_predictions: the approximate maximum number of predictions, K R N, for which fewer rows are sampled, and
            half of the repeats are made; None for any number.
        seed: the random seed.

    Returns:
        M + 1 importances: of the ensemble, then of each member, on the same permuted rows.
    """
    if most_predictions is not None:
        repeats = max(2, repeats // 2)
        most_rows = min(most_rows, max(MIN_ROWS, most_predictions // (repeats * len(columns))))
    draw = np.random.default_rng(seed)
    kept = np.sort(draw.permutation(len(rows))[:most_rows])
    rows, true = [rows[index] for index in kept], true[kept]
    before = np.array([measure.of(true, scores) for scores in _scores(score_each, rows)])  # (M + 1, 2)
    after = np.empty((len(before), repeats, len(columns), 2))
    for index, column in enumerate(columns):
        values = [row[column] for row in rows]
        shuffled = [
            {**row, column: values[other]}
            for _ in range(repeats)
            for row, other in zip(rows, draw.permutation(len(rows)), strict=True)
        ]
        for member, scores in enumerate(_scores(score_each, shuffled)):
            repeated = scores.reshape(repeats, len(rows), *scores.shape[1:])
            after[member, :, index] = [measure.of(true, values) for values in repeated]
    change = after - before[:, None, None]
    return [
        Importance(columns, values[..., 0], -values[..., 1], measure.loss, measure.metric, len(rows))
        for values in change
    ]


def _scores(score_each: ScoreEach, rows: Sequence[Row]) -> list[np.ndarray]:
    """Return the mean scores, then the scores of each member."""
    scores = [np.asarray(values, dtype="float64") for values in score_each(rows)]
    return [np.mean(scores, axis=0), *scores]


def t_interval(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute the 95 % interval of the mean of R samples (R, K) by Student's t distribution: lower and upper ends (K,).

    Source: Student 1908, "The probable error of a mean".
    """
    repeats = len(values)
    half = stats.t.ppf(0.975, repeats - 1) * values.std(axis=0, ddof=1) / np.sqrt(repeats)
    return values.mean(axis=0) - half, values.mean(axis=0) + half


def stability(importances: np.ndarray, *, first: int = 3) -> Stability | None:
    """Measure whether M models agree on the important columns; None for a single model.

    A column without importance is never a top column; a model with equal importances has a correlation of 0.

    Args:
        importances: (M, K), the importance of each column to each model.
        first: the number of top columns.

    Example:
        >>> stability(np.array([[3.0, 1.0, 0.0], [2.0, 1.0, 0.5]]), first=1).among_first
        array([1., 0., 0.])
    """
    if len(importances) < 2:
        return None
    ranks = stats.rankdata(-importances, axis=1)
    among = (stats.rankdata(-importances, axis=1, method="ordinal") <= first) & (importances > 0)
    return Stability(
        correlation=float(np.mean([_correlation(values, other) for values, other in combinations(ranks, 2)])),
        first=first,
        among_first=among.mean(axis=0),
    )


def _correlation(values: np.ndarray, other: np.ndarray) -> float:
    if np.ptp(values) == 0 or np.ptp(other) == 0:
        return 0.0
    return float(np.corrcoef(values, other)[0, 1])
