"""The comparison of finished runs: metrics, paired differences, configuration differences, losses by step."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tfattn import console, files
from tfattn.config.read import read_yaml
from tfattn.drawing.figures import svg
from tfattn.errors import ConfigError, DataError
from tfattn.evaluation.comparison import Outcome, curves
from tfattn.evaluation.metrics import bootstrap_interval
from tfattn.evaluation.report import Headline, Picture, Report, Section, Table, Text
from tfattn.evaluation.report import write as write_report
from tfattn.evaluation.wording import between, count, number
from tfattn.features import TARGET
from tfattn.runs.listing import RunInfo, read_run
from tfattn.runs.run_export import CONFIG

# The quality of a prediction, by the first of these keys that its line in predictions.jsonl has: its name and value.
QUALITIES: Mapping[str, tuple[str, Callable[[Any], float]]] = {
    "right": ("accuracy", float),
    "error": ("mean absolute error", abs),
    "f1": ("mean F1 of the answers", float),
    "chrf": ("mean chrF of the texts", float),
}
LOWER_IS_BETTER = ("error",)
TARGETS = (TARGET, "label", "answers", "reference")  # keys of the true value of a row
HIDDEN = ("support/", "_low", "_high")  # parts of the names of metrics that are not shown


@dataclass(frozen=True)
class EvaluatedRun:
    """A run with the results of its evaluation.

    Attributes:
        label: the shortest name that distinguishes the runs.
        info: the facts about the run.
        metrics: the content of metrics.json.
        rows: the lines of predictions.jsonl by row and true value.
        config: the values of the configuration by key.
        history: the lines of history.jsonl of the first model.
    """

    label: str
    info: RunInfo
    metrics: Mapping[str, float]
    rows: Mapping[tuple[str, str], Mapping[str, Any]]
    config: Mapping[str, Any]
    history: Sequence[dict[str, Any]]


def compare_runs(given: Sequence[str | Path], output: Path | None = None) -> Path:
    """Compare finished runs with the first, and write `report.html` and `plots/`; print the table.

    Rows are paired: the interval of a difference is the bootstrap interval over the rows that both runs have evaluated.

    Args:
        given: the folders of at least two runs.
        output: the folder of the page; by default comparisons/ID-ID.

    Returns:
        the folder of the page.

    Raises:
        ConfigError: there are fewer than two different runs.
        DataError: a run has not been evaluated, or the runs have no evaluated rows in common.
    """
    folders = list(dict.fromkeys(Path(folder).resolve() for folder in given))
    if len(folders) < 2:
        raise ConfigError(
            "a comparison needs at least two runs",
            expected="run folders, such as runs/NAME/ID",
            received=", ".join(map(str, given)),
            remedy="`tfattn runs` lists all runs.",
        )
    same_name = len({folder.parent.name for folder in folders}) == 1
    runs = [_read(folder, folder.name if same_name else f"{folder.parent.name}/{folder.name}") for folder in folders]
    output = output or Path("comparisons") / "-".join(folder.name for folder in folders)
    results = Table(["run", "metric", "value", "difference to the first", "95% interval", "rows"], [*_results(runs)])
    changed = [*_changed(runs)]
    shown = Table(["key", *(run.label for run in runs)], changed or [["", *("" for _ in runs)]])
    sections = [
        Section("Results", [Text(_about(runs)), results]),
        Section("Configuration differences", [shown if changed else Text("The configurations are equal.")]),
        Section("Metrics", [Table(["metric", *(run.label for run in runs)], [*_metrics(runs)])]),
        Section("Loss by step", [*_losses(runs)]),
    ]
    best = (min if _quality_key(runs) in LOWER_IS_BETTER else max)(runs, key=_quality)
    headline = Headline(
        metric=number(_quality(best)),
        sentence=f"{number(_quality(best))} is the best {_name(runs)}, of {best.label}.",
        warnings=[],
        remarks=[],
        facts={},
    )
    title = " and ".join(run.label for run in runs) if len(runs) == 2 else f"{len(runs)} runs"
    write_report(Report(f"{title}: comparison of runs", f"Differences to {runs[0].label}", headline, sections), output)
    console.table("Results", results.columns, results.rows)
    if changed:
        console.table("Configuration differences", shown.columns, shown.rows)
    console.note(f"report: {output / 'report.html'}")
    return output


def _read(folder: Path, label: str) -> EvaluatedRun:
    """Read the results of a run.

    Raises:
        DataError: the folder is not that of a run, or the run has not been evaluated.
    """
    if not (folder / CONFIG).is_file():
        raise DataError("there is no such run", where=str(folder), remedy="`tfattn runs` lists all runs.")
    if not (folder / "metrics.json").is_file():
        remedy = f"Evaluate it: tfattn evaluate {folder / CONFIG}"
        raise DataError("the run has not been evaluated", where=str(folder), remedy=remedy)
    lines = files.read_json_lines(folder / "predictions.jsonl", dict[str, Any])
    history = next(iter(sorted(folder.glob("members/*/history.jsonl"))), folder / "history.jsonl")
    return EvaluatedRun(
        label=label,
        info=read_run(folder),
        metrics=files.read_json(folder / "metrics.json", dict[str, int | float]),
        rows={
            (line.get("row", ""), str(next((line[key] for key in TARGETS if key in line), ""))): line for line in lines
        },
        config=dict(_flat(read_yaml(folder / CONFIG).values)),
        history=files.read_json_lines(history, dict[str, int | float]),
    )


def _identity(line: Mapping[str, Any]) -> tuple[str, str]:
    """Return the location and the true value of a row."""
    return line.get("row", ""), str(next((line[key] for key in TARGETS if key in line), ""))


def _flat(values: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values of a configuration by keys such as training.epochs."""
    if isinstance(values, dict) and values:
        for key, value in values.items():
            yield from _flat(value, f"{path}.{key}" if path else key)
    else:
        yield path, values


def _name(runs: Sequence[EvaluatedRun]) -> str:
    """Return the name of the compared metric: of the quality of a row, or the metric that chooses the best epoch."""
    key = _quality_key(runs)
    return QUALITIES[key][0] if key else (runs[0].info.metric or "metric").replace("_", " ")


def _quality_key(runs: Sequence[EvaluatedRun]) -> str | None:
    if not all(run.rows for run in runs):
        return None
    return next((key for key in QUALITIES if all(key in line for run in runs for line in run.rows.values())), None)


def _quality(run: EvaluatedRun) -> float:
    key = _quality_key([run])
    if key is None:
        return run.info.value or 0.0
    return float(np.mean([QUALITIES[key][1](line[key]) for line in run.rows.values()]))


def _results(runs: Sequence[EvaluatedRun]) -> Iterator[list[Any]]:
    """Yield the cells of each run: metric, difference to the first run on their common rows, and its interval."""
    key, first = _quality_key(runs), runs[0]
    for run in runs:
        cells = [run.label, _name(runs), number(_quality(run))]
        if run is first or not run.rows:
            yield [*cells, "", "", len(run.rows)]
            continue
        common = [row for row in first.rows if row in run.rows]
        if not common:
            raise DataError(
                "the runs were evaluated on different rows",
                where=run.label,
                expected=f"rows of {first.label}, such as {next(iter(first.rows))[0]}",
                received=next(iter(run.rows))[0],
                remedy="Compare runs of the same data and the same split; `seed` and `data.split` choose its rows.",
            )
        if key is None:
            yield [*cells, "", "", len(run.rows)]
            continue
        value = QUALITIES[key][1]
        differences = np.array([value(run.rows[row][key]) - value(first.rows[row][key]) for row in common])
        sums = np.stack([differences, np.ones(len(common))], axis=-1)
        low, high = bootstrap_interval(sums, lambda sums: sums[..., 0] / sums[..., 1])
        yield [*cells, f"{differences.mean():+.4f}", between(low, high), len(common)]


def _changed(runs: Sequence[EvaluatedRun]) -> Iterator[list[str]]:
    """Yield the keys with different values, and the values."""
    keys = dict.fromkeys(itertools.chain.from_iterable(run.config for run in runs))
    for key in keys:
        values = [str(run.config.get(key, "")) for run in runs]
        if len(set(values)) > 1:
            yield [key, *values]


def _metrics(runs: Sequence[EvaluatedRun]) -> Iterator[list[str]]:
    """Yield all metrics of all runs."""
    names = dict.fromkeys(itertools.chain.from_iterable(run.metrics for run in runs))
    for name in names:
        if not any(part in name for part in HIDDEN):
            yield [name, *(number(run.metrics[name]) if name in run.metrics else "" for run in runs)]


def _losses(runs: Sequence[EvaluatedRun]) -> Iterator[Picture]:
    outcomes = {
        run.label: [Outcome(variant=run.label, seed=1, metric="", value=None, history=run.history)] for run in runs
    }
    yield Picture("loss", svg(curves(outcomes, "loss")), "the training loss by step, a line for each run")
    if all("validation_loss" in line for run in runs for line in run.history):
        yield Picture("validation_loss", svg(curves(outcomes, "validation_loss")), "the validation loss by step")


def _about(runs: Sequence[EvaluatedRun]) -> str:
    if _quality_key(runs) is None:
        return "The predictions have no quality for each row, so the differences have no intervals."
    return (
        f"The {_name(runs)} on the evaluated rows, and the difference to {runs[0].label} on the "
        f"{count(len(runs[0].rows), 'row')} that both have, with its bootstrap 95% interval. An interval without 0 is "
        "a difference that other rows would probably show too."
    )
