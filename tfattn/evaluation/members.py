"""The differences between the models of one run: the metrics of each alone, beside those of the ensemble."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from tfattn.drawing.colours import BLUE, ORANGE, SOFT
from tfattn.drawing.figures import new_figure, styled, svg, width_of
from tfattn.evaluation.metrics import classification
from tfattn.evaluation.report import Picture, Section, Text
from tfattn.evaluation.wording import needed, percent
from tfattn.features import LABEL_IDS
from tfattn.trained.predictions import MemberPredictions, SplitPredictions

ACCURACY, ALL = "accuracy", "all together"


def measured(
    members: Sequence[MemberPredictions], labels: Sequence[str]
) -> tuple[dict[str, dict[str, float]], dict[str, float]]:
    """Compute the metrics of each member of an ensemble of classifiers, and the spread of their accuracies.

    Args:
        members: `label_ids` (M,) of each; none of a single model.
        labels: in the order of their ids.

    Returns:
        the metrics of metrics.classification of each, by its name; and by flat names `accuracy_members_min`,
        `accuracy_members_mean` and `accuracy_members_max`.
    """
    alone = {
        member.name: classification(member.targets[LABEL_IDS], member.values[LABEL_IDS], labels) for member in members
    }
    values = [metrics[ACCURACY] for metrics in alone.values()]
    spread = {"min": min(values), "mean": float(np.mean(values)), "max": max(values)} if values else {}
    return alone, {f"{ACCURACY}_members_{name}": value for name, value in spread.items()}


def facts(metrics: dict[str, float]) -> dict[str, str]:
    """Describe the spread of `measured` for a headline; nothing of a single model."""
    return {"each model alone": in_words(metrics)} if f"{ACCURACY}_members_min" in metrics else {}


def in_words(metrics: dict[str, float]) -> str:
    """Describe the spread of `measured` in words."""
    low, mean, high = (metrics[f"{ACCURACY}_members_{name}"] for name in ("min", "mean", "max"))
    if low == high:
        return f"{percent(low)} each"
    decimals = needed(low, high, decimals=3) - 2
    return f"{low:.{decimals}%} to {high:.{decimals}%}, mean {mean:.{decimals}%}"


def sections(
    alone: dict[str, dict[str, float]], metrics: dict[str, float], predictions: SplitPredictions
) -> list[Section]:
    """Plot a dot for each member and one for the ensemble, each with its interval; nothing of a single model.

    Args:
        alone: the metrics of each member, from `measured`.
        metrics: of the ensemble, with the spread.
        predictions: of the split.
    """
    if not alone:
        return []
    rows, num_rows = [len(member.targets[LABEL_IDS]) for member in predictions.members], len(predictions.rows)
    if sum(rows) == num_rows:
        how = "Each row was predicted by the one model that was not trained on it; each model is measured on such rows."
    elif min(rows) == num_rows:
        how = "They predict together, with the mean of their scores; here each is measured alone, on the same rows."
    else:
        how = "Those that were not trained on a row predict it together; here each is measured alone, on such rows."
    words = (
        f"{len(rows)} models were trained. {how} Their accuracy: {in_words(metrics)}; all together "
        f"{percent(metrics[ACCURACY])}."
    )
    picture = Picture("members", svg(dots({**alone, ALL: metrics})), "accuracy of each model and of all together")
    return [Section("How far the models differ", [Text(words), picture])]


@styled
def dots(metrics: dict[str, dict[str, float]]) -> Figure:
    """Plot the accuracy of each name as a dot with its 95 % interval; the last is that of the ensemble."""
    names, places = list(metrics), np.arange(len(metrics))
    values, low, high = (
        np.array([one[name] for one in metrics.values()]) for name in (ACCURACY, f"{ACCURACY}_low", f"{ACCURACY}_high")
    )
    colours = [BLUE] * (len(names) - 1) + [ORANGE]
    figure = new_figure(3.8 + width_of(names), 1.0 + 0.3 * len(names))
    axes = figure.add_subplot()
    axes.axvline(values[-1], color=SOFT, linewidth=1, linestyle="--")
    axes.hlines(places, low, high, color=colours, linewidth=2, alpha=0.45)
    axes.scatter(values, places, s=42, color=colours, zorder=3, clip_on=False)
    for place, value in zip(places, values, strict=True):
        axes.text(1.02, place, percent(value), transform=axes.get_yaxis_transform(), va="center", fontsize=9)
    axes.set_yticks(places, names)
    axes.set_ylim(len(names) - 0.5, -0.5)  # the first on top
    axes.set_xlim(low.min() - 0.02, min(1.0, high.max() + 0.02))
    axes.xaxis.set_major_locator(MaxNLocator(6))
    axes.xaxis.set_major_formatter(PercentFormatter(xmax=1))
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.set_xlabel("accuracy, with its 95% interval")
    return figure
