"""The differences between the models of one run: the metrics of each alone and those of the ensemble."""

from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from tfattn.drawing.colours import BLUE, ORANGE, SOFT
from tfattn.drawing.figures import new_figure, styled, svg, width_of
from tfattn.evaluation.plots import plain_numbers
from tfattn.evaluation.report import Picture, Section, Text
from tfattn.evaluation.wording import needed, number, percent
from tfattn.trained.predictions import SplitPredictions

ALL = "all together"


@dataclass(frozen=True)
class Spread:
    """What each of several models is worth alone, by one metric.

    Args:
        metric: its name.
        alone: the metrics of each model, by the name of the model; none of a single one.
        is_fraction: whether the metric is shown in per cent.
    """

    metric: str
    alone: dict[str, dict[str, float]]
    is_fraction: bool = True

    @property
    def metrics(self) -> dict[str, float]:
        """By flat names METRIC_members_min, METRIC_members_mean and METRIC_members_max; none of a single model."""
        values = [metrics[self.metric] for metrics in self.alone.values()]
        spread = {"min": min(values), "mean": float(np.mean(values)), "max": max(values)} if values else {}
        return {f"{self.metric}_members_{name}": value for name, value in spread.items()}

    @property
    def facts(self) -> dict[str, str]:
        """The spread, for a headline; nothing of a single model."""
        return {"each model alone": self.in_words} if self.alone else {}

    @property
    def in_words(self) -> str:
        """Describe the spread of several models."""
        low, mean, high = (self.metrics[f"{self.metric}_members_{name}"] for name in ("min", "mean", "max"))
        if low == high:
            return f"{self.shown(low)} each"
        if not self.is_fraction:
            return f"{number(low)} to {number(high)}, mean {number(mean)}"
        decimals = needed(low, high, decimals=3) - 2
        return f"{low:.{decimals}%} to {high:.{decimals}%}, mean {mean:.{decimals}%}"

    def sections(self, metrics: dict[str, float], predictions: SplitPredictions) -> list[Section]:
        """Draw a dot for each model and one for all together, each with its interval; nothing of a single one.

        Args:
            metrics: of all together, with the interval METRIC_low to METRIC_high, as those of each.
            predictions: of all together and of each.
        """
        if not self.alone:
            return []
        num_rows = len(predictions.rows)
        rows = [len(next(iter(member.targets.values()))) for member in predictions.members]
        if sum(rows) == num_rows:
            how = (
                "Each row was predicted by the one model that was not trained on it; each model is measured on such "
                "rows."
            )
        elif min(rows) == num_rows:
            how = "They predict together, by the mean of all; here each is measured alone, on the same rows."
        else:
            how = "Those that were not trained on a row predict it together; here each is measured alone, on such rows."
        name = self.metric.replace("_", " ")
        words = (
            f"{len(rows)} models were trained. {how} Their {name}: {self.in_words}; all together "
            f"{self.shown(metrics[self.metric])}."
        )
        picture = Picture("members", svg(dots(self, metrics)), f"{name} of each model and of all together")
        return [Section("Differences between the models", [Text(words), picture])]

    def shown(self, value: float) -> str:
        """Format a value of the metric."""
        return percent(value) if self.is_fraction else number(value)


@styled
def dots(spread: Spread, together: dict[str, float]) -> Figure:
    """Plot the metric of each model as a dot with its 95 % interval; the last is that of the ensemble."""
    metrics = {**spread.alone, ALL: together}
    names, places = list(metrics), np.arange(len(metrics))
    values, low, high = (
        np.array([one[f"{spread.metric}{end}"] for one in metrics.values()]) for end in ("", "_low", "_high")
    )
    colours = [BLUE] * (len(names) - 1) + [ORANGE]
    figure = new_figure(3.8 + width_of(names), 1.0 + 0.3 * len(names))
    axes = figure.add_subplot()
    axes.axvline(values[-1], color=SOFT, linewidth=1, linestyle="--")
    axes.hlines(places, low, high, color=colours, linewidth=2, alpha=0.45)
    axes.scatter(values, places, s=42, color=colours, zorder=3, clip_on=False)
    for place, value in zip(places, values, strict=True):
        axes.text(1.02, place, spread.shown(value), transform=axes.get_yaxis_transform(), va="center", fontsize=9)
    axes.set_yticks(places, names)
    axes.set_ylim(len(names) - 0.5, -0.5)  # the first on top
    margin = 0.02 if spread.is_fraction else 0.05 * (high.max() - low.min())
    axes.set_xlim(low.min() - margin, min(1.0, high.max() + margin) if spread.is_fraction else high.max() + margin)
    axes.xaxis.set_major_locator(MaxNLocator(6))
    axes.xaxis.set_major_formatter(PercentFormatter(xmax=1) if spread.is_fraction else plain_numbers())
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.set_xlabel(f"{spread.metric.replace('_', ' ')}, with its 95% interval")
    return figure
