"""The importance of columns: how much worse a model predicts when the values of a column are shuffled."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy import stats
from sklearn.metrics import average_precision_score

from tfattn.evaluation.metrics import log_loss
from tfattn.tasks.label_metrics import roc_auc
from tfattn.tasks.number_metrics import number_metrics

Row = dict[str, str]
ScoreEach = Callable[[Sequence[Row]], Sequence[np.ndarray]]


@dataclass(frozen=True)
class Measure:
    """How well rows are predicted.

    Args:
        loss: the name of what rises as predictions get worse.
        metric: the name of what drops, which is easier to read.
        of: from what is right and what is predicted, (N, ...) each, to both.
    """

    loss: str
    metric: str
    of: Callable[[np.ndarray, np.ndarray], tuple[float, float]]


def of_labels(true: np.ndarray, positive: int | None) -> Measure:
    """Measure scores (N, C) by the right labels: log loss, and the ROC AUC of a positive label, or accuracy.

    Args:
        true: (N,) ids of the right labels; accuracy is measured where all or none are positive.
        positive: id of the label that is looked for; None where there is none.
    """

    def accuracy(true: np.ndarray, scores: np.ndarray) -> tuple[float, float]:
        return log_loss(true, scores), np.mean(scores.argmax(axis=1) == true)

    def area(true: np.ndarray, scores: np.ndarray) -> tuple[float, float]:
        return log_loss(true, scores), roc_auc(true == positive, scores[:, positive])

    if positive is None or np.all(true == positive) or not np.any(true == positive):
        return Measure("log loss", "accuracy", accuracy)
    return Measure("log loss", "ROC AUC", area)


def of_label_sets() -> Measure:
    """Measure scores (N, C) by whether rows have each label, (N, C): log loss, and mean average precision."""

    def measured(true: np.ndarray, scores: np.ndarray) -> tuple[float, float]:
        return log_loss(true > 0, scores), average_precision_score(true, scores, average="micro")

    return Measure("log loss", "average precision", measured)


def of_numbers(deviation: float) -> Measure:
    """Measure predictions (N,) by the right numbers (N,): squared error, in squares of a deviation, and R2."""

    def measured(true: np.ndarray, predicted: np.ndarray) -> tuple[float, float]:
        metrics = number_metrics(true, predicted)
        return (metrics["root_mean_squared_error"] / deviation) ** 2, metrics["r2"]

    return Measure("squared error", "R2", measured)


@dataclass(frozen=True)
class Importance:
    """The importance of each of K columns to a model, by R random shuffles of it.

    Attributes:
        columns: the K names.
        rises: (R, K) by how much the loss rose.
        drops: (R, K) by how much `metric` dropped.
        loss, metric: what these are called.
        rows: how many rows were shuffled.
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
        """The ends of the 95 % interval of the mean rise over all shuffles of these rows, (K,) each: see `around`."""
        return around(self.rises)

    @property
    def important(self) -> np.ndarray:
        """The indices of the columns whose whole interval is above 0, the most important first."""
        order = np.argsort(-self.mean, kind="stable")
        return order[self.interval[0][order] > 0]


@dataclass(frozen=True)
class Stability:
    """The agreement of models that differ by their seeds only on the important columns.

    Attributes:
        correlation: mean rank correlation (Spearman) of all pairs of models: 1 if all agree, about 0 by chance.
        first: the number of columns that count as the first ones.
        among_first: (K,) fraction of the models that have the column among their first ones.
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
    seed: int,
) -> list[Importance]:
    """Shuffle the values of each column among the rows, and measure the loss of an ensemble and of each member.

    The metric to rank columns by is the rise of the loss. It sees every change of a score. A model that separates all
    rows keeps a ROC AUC of 1 while its scores shrink, and accuracy only moves with rows near the border: both would
    show no drop at all. The drop of one of them is kept as well, as it is easier to read. Columns that say the same
    stand in for each other, so that each may look less important than both are together.

    Sources: Breiman 2001, "Random forests", section 10; Fisher et al. 2019, "All models are wrong, but many are
    useful", section 3, with the difference in place of the ratio, which has no meaning for a loss of 0.

    Args:
        score_each: from raw rows to what each of M members predicts, (N, ...), each row for itself; the ensemble
            predicts their mean.
        rows: N raw rows, which the models were not trained on.
        columns: the K columns to shuffle, each of them in every row.
        true: (N, ...) what should be predicted.
        measure: how well that is done.
        repeats: R, how often each column is shuffled, at least 2; `score_each` gets R N rows at a time.
        most_rows: of more rows, so many are drawn.
        seed: of the draws; equal seeds give equal results.

    Returns:
        M + 1: the ensemble's, then each member's. All saw the same shuffled rows.
    """
    draw = np.random.default_rng(seed)
    kept = np.sort(draw.permutation(len(rows))[:most_rows])
    rows, true = [rows[place] for place in kept], true[kept]
    before = np.array([measure.of(true, scores) for scores in _scores(score_each, rows)])  # (M + 1, 2)
    after = np.empty((len(before), repeats, len(columns), 2))
    for place, column in enumerate(columns):
        values = [row[column] for row in rows]
        shuffled = [
            {**row, column: values[other]}
            for _ in range(repeats)
            for row, other in zip(rows, draw.permutation(len(rows)), strict=True)
        ]
        for member, scores in enumerate(_scores(score_each, shuffled)):
            repeated = scores.reshape(repeats, len(rows), *scores.shape[1:])
            after[member, :, place] = [measure.of(true, one) for one in repeated]
    change = after - before[:, None, None]
    return [Importance(columns, one[..., 0], -one[..., 1], measure.loss, measure.metric, len(rows)) for one in change]


def _scores(score_each: ScoreEach, rows: Sequence[Row]) -> list[np.ndarray]:
    """Compute the mean scores, then those of each member."""
    scores = [np.asarray(one, dtype="float64") for one in score_each(rows)]
    return [np.mean(scores, axis=0), *scores]


def around(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute the 95 % interval of the mean of R draws (R, K), by Student's t distribution: lower and upper ends (K,).

    Source: Student 1908, "The probable error of a mean".
    """
    repeats = len(values)
    half = stats.t.ppf(0.975, repeats - 1) * values.std(axis=0, ddof=1) / np.sqrt(repeats)
    return values.mean(axis=0) - half, values.mean(axis=0) + half


def stability(importances: np.ndarray, *, first: int = 3) -> Stability | None:
    """Measure whether M models agree on the important columns; None for a single model.

    A column without any importance is never among the first, and a model without any ranking agrees with no other.

    Args:
        importances: (M, K), the importance of each column to each model.
        first: the number of columns that count as the first ones.

    Example:
        >>> stability(np.array([[3.0, 1.0, 0.0], [2.0, 1.0, 0.5]]), first=1).among_first
        array([1., 0., 0.])
    """
    if len(importances) < 2:
        return None
    ranks = stats.rankdata(-importances, axis=1)
    among = (stats.rankdata(-importances, axis=1, method="ordinal") <= first) & (importances > 0)
    return Stability(
        correlation=float(np.mean([_correlation(one, other) for one, other in combinations(ranks, 2)])),
        first=first,
        among_first=among.mean(axis=0),
    )


def _correlation(one: np.ndarray, other: np.ndarray) -> float:
    if np.ptp(one) == 0 or np.ptp(other) == 0:
        return 0.0
    return float(np.corrcoef(one, other)[0, 1])
