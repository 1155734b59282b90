"""The differences between the members of an ensemble: metrics of each member and of the ensemble."""

from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from tfattn.drawing.colours import BLUE, ORANGE, SOFT
from tfattn.drawing.figures import new_figure, styled, svg, text_width
from tfattn.evaluation.plots import plain_numbers
from tfattn.evaluation.report import Picture, Section, Text
from tfattn.evaluation.wording import decimals_needed, number, percent
from tfattn.trained.predictions import SplitPredictions

ALL = "ensemble"


@dataclass(frozen=True)
class Spread:
    """The scores of the members of an ensemble in one metric.

    Args:
        metric: the name of the metric.
        alone: member name to metrics; empty for a single model.
        is_fraction: whether the metric is formatted in per cent.
    """

    metric: str
    alone: dict[str, dict[str, float]]
    is_fraction: bool = True

    @property
    def metrics(self) -> dict[str, float]:
        """The metrics METRIC_members_min, METRIC_members_mean and METRIC_members_max; none for a single model."""
        values = [metrics[self.metric] for metrics in self.alone.values()]
        spread = {"min": min(values), "mean": float(np.mean(values)), "max": max(values)} if values else {}
        return {f"{self.metric}_members_{name}": value for name, value in spread.items()}

    @property
    def facts(self) -> dict[str, str]:
        """The spread, for a headline; empty for a single model."""
        return {"single members": self.in_words} if self.alone else {}

    @property
    def in_words(self) -> str:
        """Describe the spread of several models."""
        low, mean, high = (self.metrics[f"{self.metric}_members_{name}"] for name in ("min", "mean", "max"))
        if low == high:
            return f"{self.shown(low)} each"
        if not self.is_fraction:
            return f"{number(low)} to {number(high)}, mean {number(mean)}"
        decimals = decimals_needed(low, high, decimals=3) - 2
        return f"{low:.{decimals}%} to {high:.{decimals}%}, mean {mean:.{decimals}%}"

    def sections(self, metrics: dict[str, float], predictions: SplitPredictions) -> list[Section]:
        """Return a section with the metric of each member and of the ensemble; none for a single model.

        Args:
            metrics: metrics of the ensemble, with the interval METRIC_low to METRIC_high.
            predictions: predictions of the ensemble and its members.
        """
        if not self.alone:
            return []
        num_rows = len(predictions.rows)
        rows = [len(next(iter(member.targets.values()))) for member in predictions.members]
        if sum(rows) == num_rows:
            how = "Each row is predicted by the member that was not trained on it; members are evaluated on these rows."
        elif min(rows) == num_rows:
            how = "The ensemble predicts their mean; here each member is evaluated alone, on the same rows."
        else:
            how = "A row is predicted by the members that were not trained on it; here each is evaluated alone."
        name = self.metric.replace("_", " ")
        words = (
            f"{len(rows)} models were trained. {how} Their {name}: {self.in_words}; the ensemble "
            f"{self.shown(metrics[self.metric])}."
        )
        picture = Picture("members", svg(dots(self, metrics)), f"{name} of each member and of the ensemble")
        return [Section("Ensemble members", [Text(words), picture])]

    def shown(self, value: float) -> str:
        """Format a value of the metric."""
        return percent(value) if self.is_fraction else number(value)


@styled
def dots(spread: Spread, together: dict[str, float]) -> Figure:
    """Plot the metric of each member and, last, of the ensemble as dots with 95 % intervals."""
    metrics = {**spread.alone, ALL: together}
    names, positions = list(metrics), np.arange(len(metrics))
    values, low, high = (
        np.array([values_of_member[f"{spread.metric}{end}"] for values_of_member in metrics.values()])
        for end in ("", "_low", "_high")
    )
    colours = [BLUE] * (len(names) - 1) + [ORANGE]
    figure = new_figure(3.8 + text_width(names), 1.0 + 0.3 * len(names))
    axes = figure.add_subplot()
    axes.axvline(values[-1], color=SOFT, linewidth=1, linestyle="--")
    axes.hlines(positions, low, high, color=colours, linewidth=2, alpha=0.45)
    axes.scatter(values, positions, s=42, color=colours, zorder=3, clip_on=False)
    for index, value in zip(positions, values, strict=True):
        axes.text(1.02, index, spread.shown(value), transform=axes.get_yaxis_transform(), va="center", fontsize=9)
    axes.set_yticks(positions, names)
    axes.set_ylim(len(names) - 0.5, -0.5)  # the first on top
    margin = 0.02 if spread.is_fraction else 0.05 * (high.max() - low.min())
    axes.set_xlim(low.min() - margin, min(1.0, high.max() + margin) if spread.is_fraction else high.max() + margin)
    axes.xaxis.set_major_locator(MaxNLocator(6))
    axes.xaxis.set_major_formatter(PercentFormatter(xmax=1) if spread.is_fraction else plain_numbers())
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.set_xlabel(f"{spread.metric.replace('_', ' ')}, with 95% interval")
    return figure
