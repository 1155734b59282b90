"""Feature importance of the columns of a table, as metrics and as a section of the report."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from tfattn.drawing.colours import BLUE, INK, ORANGE, PURPLE, SOFT
from tfattn.drawing.figures import new_figure, short, styled, svg, text_width
from tfattn.evaluation import permutation_importance, plots
from tfattn.evaluation.permutation_importance import Importance, Measure, Stability
from tfattn.evaluation.report import Picture, Section, Table, Text
from tfattn.evaluation.wording import between, count, decimals_needed, fixed, number, percent, quoted_list
from tfattn.features import COLUMN_ATTENTION
from tfattn.trained.ensemble import TrainedEnsemble
from tfattn.trained.predictions import SplitPredictions

SEED = 0  # of the permutations; a fixed seed makes evaluations reproducible
MAX_COLUMNS = 30  # of the chart
MAX_ROWS = 30  # longer tables start folded


@dataclass(frozen=True)
class FeatureImportance:
    """The importance of the columns of a table for an ensemble.

    Args:
        whole: the importance for the ensemble.
        each: the importance for each member.
        attention: (N, K) the attention to each column, or None.
    """

    whole: Importance
    each: Sequence[Importance]
    attention: np.ndarray | None

    @cached_property
    def agreement(self) -> Stability | None:
        """The agreement of several members on the important columns; None for a single model."""
        return permutation_importance.stability(np.array([member.mean for member in self.each]))

    @property
    def metrics(self) -> dict[str, float]:
        """The metrics `importance/COLUMN` with interval, `attention/COLUMN` and `importance_agreement`."""
        columns, (low, high) = self.whole.columns, self.whole.interval
        kinds = {"importance": self.whole.mean, "importance_low": low, "importance_high": high}
        if self.attention is not None:
            kinds["attention"] = self.attention.mean(axis=0)
        metrics = {
            f"{kind}/{name}": float(value)
            for kind, values in kinds.items()
            for name, value in zip(columns, values, strict=True)
        }
        return metrics | ({"importance_agreement": self.agreement.correlation} if self.agreement else {})

    @property
    def summary(self) -> str:
        """The names of the most important columns, as a phrase."""
        first = [self.whole.columns[index] for index in self.whole.important[:3]]
        return f"most important features: {', '.join(first)}" if first else "no column is important beyond chance"

    def section(self) -> Section:
        """Return the section of importances, attention and agreement."""
        whole, agreement = self.whole, self.agreement
        low, high = whole.interval
        attention = None if self.attention is None else self.attention.mean(axis=0)
        picture = importances_plot(
            whole.columns,
            whole.mean,
            whole.interval,
            loss=whole.loss,
            members=np.array([member.mean for member in self.each]) if agreement else None,
            attention=attention,
        )
        heads = ["column", f"rise of {whole.loss} (95% interval)", f"drop of {whole.metric}"]
        heads += [] if attention is None else ["attention"]
        heads += [f"in top {agreement.first}"] if agreement else []
        table = [
            [
                whole.columns[index],
                _rise(whole.mean[index], low[index], high[index]),
                round(float(whole.drops[:, index].mean()), 4),
                *([] if attention is None else [percent(attention[index])]),
                *([percent(agreement.among_first[index])] if agreement else []),
            ]
            for index in np.argsort(-whole.mean, kind="stable")
        ]
        return Section(
            "Feature importance",
            [
                *map(Text, self._words(attention is not None)),
                Picture("importance", svg(picture), "importance of each column"),
                Table(heads, table, folded=f"All {len(table)} columns" if len(table) > MAX_ROWS else ""),
            ],
        )

    def _words(self, has_attention: bool) -> list[str]:
        whole, agreement = self.whole, self.agreement
        first = [whole.columns[index] for index in whole.important]
        words = [
            f"Important beyond chance: {quoted_list(first)}."
            if first
            else "No single column is important beyond chance.",
            f"Permutation importance: the rise of the {whole.loss}{LOSS_NOTES.get(whole.loss, '')} when the values "
            f"of a column are shuffled among {count(whole.rows, 'row')}, as the mean of {len(whole.rises)} shuffles "
            "with its interval. Correlated columns replace each other, so each may appear less important than both "
            "together.",
        ]
        if has_attention:
            words.append(
                "Attention is the mean attention weight of a column. It may differ from importance: a column with much "
                "attention may have little effect."
            )
        if agreement:
            words.append(
                f"The {len(self.each)} members of this ensemble rank the columns with a mean rank correlation of "
                f"{agreement.correlation:.2f} (1: equal; 0: chance). The last column of the table is the fraction of "
                f"members with the column among their top {agreement.first}."
            )
        return words


LOSS_NOTES = {
    "log loss": " (negative log of the score of the true label)",
    "squared error": " (in squared standard deviations of the training targets)",
}


def measure_importance(
    ensemble: TrainedEnsemble,
    predictions: SplitPredictions,
    true: np.ndarray,
    *,
    predicted: str,
    measure: Measure,
) -> FeatureImportance:
    """Measure the permutation importance of the columns of a table.

    Args:
        ensemble: the trained models.
        predictions: predictions for N rows.
        true: (N, ...) true values.
        predicted: the name of the evaluated prediction, such as "scores".
        measure: the loss and the metric.
    """
    whole, *each = permutation_importance.permutation(
        lambda rows: [member[predicted] for member in ensemble.predict_each(rows)],
        predictions.rows,
        ensemble.preprocessor.fields,
        true,
        measure=measure,
        most_predictions=ensemble.most_permuted_rows,
        seed=SEED,
    )
    return FeatureImportance(whole, each, predictions.values.get(COLUMN_ATTENTION))


def _rise(mean: float, low: float, high: float) -> str:
    """Format a mean with its interval; an ignored column has no interval."""
    if low == high:
        return number(mean)
    return f"{fixed(mean, decimals_needed(low, high, decimals=4))} ({between(low, high)})"


@styled
def importances_plot(
    columns: Sequence[str],
    importances: np.ndarray,
    interval: tuple[np.ndarray, np.ndarray],
    *,
    loss: str,
    members: np.ndarray | None = None,
    attention: np.ndarray | None = None,
) -> Figure:
    """Plot a bar per column for the rise of the loss and, in a second panel, for its attention.

    Both panels have the most important columns first, at most MAX_COLUMNS.

    Args:
        columns: K names.
        importances: (K,) mean rise of the loss.
        interval: (K,) and (K,), the ends of their intervals.
        loss: the name of the loss.
        members: (M, K) the mean rises of each member, drawn as dots.
        attention: (K,) mean attention, which sums to 1.
    """
    order = np.argsort(-importances, kind="stable")[:MAX_COLUMNS]
    positions, names = range(len(order)), [short(columns[number]) for number in order]
    figure = new_figure(5.6 + text_width(names) + (3.0 if attention is not None else 0), 1.4 + 0.29 * len(order))
    panels = figure.subplots(
        1, 1 if attention is None else 2, sharey=True, squeeze=False, width_ratios=[1] if attention is None else [5, 3]
    )[0]

    panels[0].barh(positions, importances[order], color=BLUE, height=0.64)
    panels[0].hlines(positions, interval[0][order], interval[1][order], color=INK, linewidth=1.6, label="95% interval")
    if members is not None:
        for member in members:
            panels[0].scatter(member[order], positions, s=11, color=ORANGE, zorder=3, label="each member")
    lowest = min(0.0, interval[0].min(), *([] if members is None else [members.min()]))
    panels[0].axvline(0, color=SOFT, linewidth=1)
    panels[0].set_xlim(left=1.05 * lowest)
    hidden = len(columns) - len(order)
    panels[0].set_title("Permutation importance" + (f" ({hidden} less important are hidden)" if hidden else ""))
    panels[0].set_xlabel(f"rise of the {loss}")
    panels[0].xaxis.set_major_locator(MaxNLocator(6))
    panels[0].xaxis.set_major_formatter(plots.plain_numbers())
    panels[0].set_yticks(positions, names)
    panels[0].set_ylim(len(order) + 0.9, -0.6)  # the first on top, room for the legends below the last
    handles = dict(zip(*reversed(panels[0].get_legend_handles_labels()), strict=True))
    panels[0].legend(handles.values(), handles.keys(), fontsize=9, loc="lower right")
    if attention is not None:
        panels[1].barh(positions, attention[order], color=PURPLE, height=0.64)
        panels[1].axvline(1 / len(columns), color=SOFT, linewidth=1, linestyle="--", label="uniform")
        panels[1].set_title("Attention")
        panels[1].set_xlabel("mean attention")
        panels[1].xaxis.set_major_locator(MaxNLocator(5))
        panels[1].xaxis.set_major_formatter(PercentFormatter(xmax=1))
        panels[1].legend(fontsize=9, loc="lower right")
    for axes in panels:
        axes.grid(visible=False, axis="y")
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
    return figure
