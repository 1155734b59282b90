"""The report of a comparison of pipeline variants: results, losses by step, gradients by layer."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

from tfattn import console, files
from tfattn.drawing.colours import SERIES
from tfattn.drawing.figures import new_figure, short, styled, svg
from tfattn.evaluation.plots import plain_numbers
from tfattn.evaluation.report import Headline, Picture, Report, Section, Table, Text
from tfattn.evaluation.report import write as write_report
from tfattn.evaluation.wording import count, number
from tfattn.runs.comparison import Comparison
from tfattn.tasks.intervals import paired
from tfattn.training.gradients import GRADIENT_NORM

DIVERGED = "diverged"
STYLES = ("-", "--", ":")  # of lines, once colours are used up


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The result of a run.

    Attributes:
        variant, seed: the run.
        metric, value: the metric; None if the loss diverged.
        history: the lines of history.jsonl.
    """

    variant: str
    seed: int
    metric: str
    value: float | None
    history: Sequence[dict[str, Any]]

    @property
    def summary(self) -> str:
        """A line for the console."""
        if self.value is None:
            return f"{DIVERGED} after step {self.history[-1]['step']:,}" if self.history else DIVERGED
        return f"{self.metric} {number(self.value)}"


def write(comparison: Comparison, outcomes: Sequence[Outcome], folder: Path) -> None:
    """Write `report.html`, `plots/*.svg`, and `comparison.json` with all outcomes; print the table of results."""
    by_variant = {name: [outcome for outcome in outcomes if outcome.variant == name] for name in comparison.variants}
    files.write_json(folder / "comparison.json", [asdict(outcome) for outcome in outcomes])
    loss, gradients = curves(by_variant, "loss"), _gradients(by_variant)
    pictures = [Picture("loss", svg(loss), "the training loss by step, a line for each variant")]
    if any("validation_loss" in line for outcome in outcomes for line in outcome.history):
        validation = curves(by_variant, "validation_loss")
        pictures.append(Picture("validation_loss", svg(validation), "the validation loss by step"))
    results = _table(comparison, by_variant)
    sections = [
        Section("Results", [Text(_about(comparison)), results]),
        Section("Loss by step", [*pictures, Text("Lines are means over the seeds; a line ends where a run diverged.")]),
        Section(
            "Gradients by layer, from the input upwards",
            [
                Picture("gradients", svg(gradients), "the norm of the gradient of each layer"),
                Text(
                    "The norm of the gradient of the weights of each layer, at the first and at the last validation, "
                    "geometric means over the seeds. Changes by orders of magnitude between layers mean vanishing "
                    "or exploding gradients."
                ),
            ],
        ),
    ]
    title = f"{comparison.name}: comparison of variants"
    subtitle = (
        f"{count(len(by_variant), 'variant')} of {comparison.pipeline}, {count(comparison.seeds, 'seed')} of each"
    )
    write_report(Report(title, subtitle, _headline(comparison, by_variant), sections), folder)
    console.table(title, results.columns, results.rows)


def _headline(comparison: Comparison, by_variant: dict[str, list[Outcome]]) -> Headline:
    means = {
        name: np.mean([outcome.value for outcome in runs]) for name, runs in by_variant.items() if not _diverged(runs)
    }
    diverged = [name for name in by_variant if name not in means]
    if not means:
        return Headline(DIVERGED, "All variants diverged.", [], {})
    first, last = max(means, key=means.get), min(means, key=means.get)
    return Headline(
        metric=number(means[first]),
        sentence=f"{number(means[first])} is the highest mean {comparison.metric}, that of “{first}”; "
        f"{number(means[last])} the lowest, that of “{last}”.",
        warnings=[f"“{name}” has diverged." for name in diverged],
        remarks=["All variants of a seed are evaluated on the same rows."],
        facts={},
    )


def _about(comparison: Comparison) -> str:
    (first, *_) = comparison.variants
    return (
        f"Mean {comparison.metric} over the seeds, with minimum and maximum; and the difference to “{first}”, "
        "with the 95% interval of the mean of paired differences by seed."
    )


def _table(comparison: Comparison, by_variant: dict[str, list[Outcome]]) -> Table:
    base, *_ = by_variant.values()
    rows = []
    for name, runs in by_variant.items():
        changes = ", ".join(f"{key}={value}" for key, value in comparison.variants[name].items())
        losses = [outcome.history[-1]["loss"] for outcome in runs if outcome.history]
        seconds = [sum(line["seconds"] for line in outcome.history) for outcome in runs]
        cells = [DIVERGED, ""]
        if not _diverged(runs):
            values = [outcome.value for outcome in runs]
            spread = f"{number(np.mean(values))} ({number(min(values))} to {number(max(values))})"
            cells = [spread, "" if runs is base or _diverged(base) else _ahead(runs, base)]
        last = number(np.mean(losses)) if losses else ""
        rows.append([name, changes, *cells, last, f"{np.median(seconds):.0f} s"])
    columns = ["", "changes", comparison.metric, "difference to the first", "last training loss", "training time"]
    return Table(columns, rows)


def _ahead(runs: Sequence[Outcome], base: Sequence[Outcome]) -> str:
    mean, low, high = paired([outcome.value for outcome in runs], [outcome.value for outcome in base])
    return f"{mean:+.4f}" if low is None else f"{mean:+.4f} ({low:+.4f} to {high:+.4f})"


def _diverged(runs: Sequence[Outcome]) -> bool:
    return any(outcome.value is None for outcome in runs)


@styled
def curves(by_variant: dict[str, list[Outcome]], name: str) -> Figure:
    """Plot a value of the histories by step, as the mean over the seeds per variant."""
    figure = new_figure(7.2, 3.6)
    axes = figure.add_subplot()
    for (variant, runs), style in zip(by_variant.items(), _styles(), strict=False):
        steps = min((_column(outcome, "step") for outcome in runs), key=len)
        values = [_column(outcome, name)[: len(steps)] for outcome in runs]
        axes.plot(steps, np.mean(values, axis=0), label=short(variant), marker="o", markersize=2.5, **style)
    _by_factors(axes)
    axes.set_xlabel("step")
    axes.set_ylabel(name.replace("_", " "))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    figure.legend(fontsize=8, loc="outside right upper")
    return figure


@styled
def _gradients(by_variant: dict[str, list[Outcome]]) -> Figure:
    """Plot the gradient norms of all layers at the first and the last line of the histories."""
    figure = new_figure(8.6, 3.8)
    panels = figure.subplots(1, 2, sharey=True)
    for index, title, axes in zip((0, -1), ("at the first validation", "at the last"), panels, strict=True):
        names: list[str] = []
        for (variant, runs), style in zip(by_variant.items(), _styles(), strict=False):
            lines = [outcome.history[index] for outcome in runs if outcome.history]
            names = names or [name for line in lines[:1] for name in line if name.startswith(GRADIENT_NORM)]
            # A log axis cannot show gradients of 0.
            norms = [[line.get(name) or np.nan for name in names] for line in lines]
            if norms:
                means = np.exp(np.mean(np.log(norms), axis=0))
                axes.plot(range(len(names)), means, label=short(variant), marker="o", markersize=2.5, **style)
        _by_factors(axes)
        axes.set_title(title)
        shown = [short(name.removeprefix(GRADIENT_NORM)) for name in names]
        axes.set_xticks(range(len(names)), shown, rotation=60, ha="right", fontsize=8)
    panels[0].set_ylabel("norm of the gradient")
    figure.legend(*panels[0].get_legend_handles_labels(), fontsize=8, loc="outside right upper")
    return figure


def _by_factors(axes: Axes) -> None:
    """Set a log scale with plain tick labels."""
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(plain_numbers())


def _column(outcome: Outcome, name: str) -> list[float]:
    return [line.get(name, np.nan) for line in outcome.history]


def _styles() -> Iterator[dict[str, str]]:
    """Yield line styles: all colours per line style."""
    for style in cycle(STYLES):
        for colour in SERIES:
            yield {"color": colour, "linestyle": style, "linewidth": 1.6}
