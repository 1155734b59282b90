"""The results of a search: the best pipeline, a page with curves and importances, and all trials."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from tfattn import console, files
from tfattn.config.schema import Config
from tfattn.config.show import to_yaml
from tfattn.drawing.colours import SERIES
from tfattn.drawing.figures import new_figure, short, styled, svg
from tfattn.evaluation.report import Headline, Picture, Report, Section, Table, Text
from tfattn.evaluation.report import write as write_report
from tfattn.evaluation.wording import count, number, percent

MAX_SHOWN = 100  # trials of the table


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A trial of a search.

    Attributes:
        number: from 0; trial 0 is the pipeline as it is.
        state: "finished", "pruned", "failed" or "running".
        settings: the values of the searched keys.
        metric, value: the best validation metric; of a pruned trial the last.
        seconds: the training time.
        reason: why the trial failed.
    """

    number: int
    state: str
    settings: Mapping[str, Any]
    metric: str
    value: float | None
    seconds: float
    reason: str

    def __str__(self) -> str:
        value = "" if self.value is None else f"validation {self.metric} {number(self.value)}"
        return ": ".join(filter(None, [self.state, self.reason or value]))


def write(
    folder: Path,
    trials: Sequence[Trial],
    best: Trial,
    *,
    config: Config,
    importances: Mapping[str, float],
    mode: str,
) -> None:
    """Write `best.yaml`, `trials.jsonl`, `report.html` and `plots/`; print the best trials.

    Args:
        folder: the folder of the search.
        trials: all trials.
        best: the best finished trial.
        config: the pipeline with the settings of the best trial.
        importances: the importance of each setting, with the sum 1; may be empty.
        mode: whether "max" or "min" of the metric is best.
    """
    first = trials[0]
    comment = f"# The best of {count(len(trials), 'trial')}: {_compared(best, first)}\n"
    files.write_text(folder / "best.yaml", comment + to_yaml(config))
    files.write_text(folder / "trials.jsonl", "".join(json.dumps(asdict(trial)) + "\n" for trial in trials))
    ranked = _ranked(trials, mode)
    columns = ["trial", "state", f"validation {best.metric}", *_short_names(best.settings), "training time"]
    table = Table(columns, _rows(ranked))
    pictures = [Picture("trials", svg(_curve(trials, mode)), "the metric of each trial, and the best so far")]
    if importances:
        pictures.append(Picture("importances", svg(_bars(importances)), "the importance of each setting"))
    headline = Headline(
        metric=number(best.value),
        sentence=f"Trial {best.number + 1} is the best: {_compared(best, first)}",
        warnings=[],
        remarks=["The validation rows selected the settings. `tfattn run best.yaml` measures the test rows."],
        facts={},
    )
    about = (
        "Importance is the fraction of the variance of the metric that a setting explains (fANOVA)."
        if importances
        else "There are too few finished trials to measure the importance of the settings."
    )
    sections = [Section("Optimization history", [*pictures, Text(about)]), Section("All trials", [table])]
    title, subtitle = f"{config.values['name']}: search", f"{count(len(trials), 'trial')}, folder {folder.name}"
    write_report(Report(title, subtitle, headline, sections), folder)
    console.table("Best trials", table.columns, table.rows[:5])
    console.note(f"report: {folder / 'report.html'}")


def _short_names(keys: Iterable[str]) -> list[str]:
    """Return the last part of each key, or the whole key if several end with this part."""
    keys = list(keys)
    parts = [key.rpartition(".")[2] for key in keys]
    return [part if parts.count(part) == 1 else key for key, part in zip(keys, parts, strict=True)]


def _compared(best: Trial, first: Trial) -> str:
    if best.number == first.number or first.value is None:
        return f"validation {best.metric} {number(best.value)}."
    return f"validation {best.metric} {number(best.value)}; the pipeline as it is has {number(first.value)}."


def _ranked(trials: Sequence[Trial], mode: str) -> list[Trial]:
    sign = -1 if mode == "max" else 1
    order = {"finished": 0, "pruned": 1}
    return sorted(trials, key=lambda trial: (order.get(trial.state, 2), sign * (trial.value or 0.0)))


def _rows(trials: Sequence[Trial]) -> list[list[str]]:
    return [
        [
            str(trial.number + 1),
            trial.state,
            "" if trial.value is None else number(trial.value),
            *(number(value) if isinstance(value, float) else str(value) for value in trial.settings.values()),
            f"{trial.seconds:.0f} s",
        ]
        for trial in trials[:MAX_SHOWN]
    ]


@styled
def _curve(trials: Sequence[Trial], mode: str) -> Figure:
    """Plot the metric of each trial by its number, and the best so far."""
    figure = new_figure(7.2, 3.2)
    axes = figure.add_subplot()
    best, numbers, curve = None, [], []
    for state, style in {"finished": {"marker": "o"}, "pruned": {"marker": "x"}}.items():
        chosen = [trial for trial in trials if trial.state == state and trial.value is not None]
        if chosen:
            axes.scatter(
                [trial.number + 1 for trial in chosen], [trial.value for trial in chosen], label=state, **style
            )
    for trial in trials:
        if trial.state == "finished":
            best = trial.value if best is None else (max if mode == "max" else min)(best, trial.value)
            numbers.append(trial.number + 1)
            curve.append(best)
    axes.step(numbers, curve, where="post", color=SERIES[1], label="best so far")
    axes.set_xlabel("trial")
    axes.set_ylabel(f"validation {trials[0].metric}".replace("_", " "))
    axes.legend(fontsize=8)
    return figure


@styled
def _bars(importances: Mapping[str, float]) -> Figure:
    """Plot the importance of each setting."""
    names = list(importances)[::-1]
    figure = new_figure(7.2, 0.6 + 0.35 * len(names))
    axes = figure.add_subplot()
    axes.barh([short(name) for name in names], [importances[name] for name in names], color=SERIES[0])
    for index, name in enumerate(names):
        axes.text(importances[name], index, f" {percent(importances[name])}", va="center", fontsize=8)
    axes.set_xlabel("importance")
    return figure
