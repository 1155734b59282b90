"""Drift of a file of new rows without targets, compared with the training rows of an export."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tfattn import console, files
from tfattn.errors import ConfigError
from tfattn.evaluation import drift
from tfattn.evaluation.drift import InputDrift
from tfattn.evaluation.new_rows import flags_of, model_name, open_run_or_model, read_rows, statistics_of
from tfattn.evaluation.report import Headline, Report, Section, Table, Text
from tfattn.evaluation.report import write as write_report
from tfattn.evaluation.served_ensemble import ServedEnsemble
from tfattn.evaluation.wording import count, quoted_list
from tfattn.formats.file_formats import InputKind
from tfattn.serving.engine.saved_model import EXPORT_AGAIN

LIMITS = (
    "Each input is compared by itself: a change of the relation between inputs is not measured. Of texts, the lengths "
    "and the share of unknown words are compared, not the meaning. Without true targets, a change of the relation "
    "between inputs and targets cannot be measured."
)


@dataclass(frozen=True)
class Drift:
    """The drift of new rows.

    Attributes:
        inputs: the drift of each input, the largest first.
        predictions: the drift of the predictions; empty if the export has no histograms of predictions.
        report: the path of report.html, next to drift.json.
    """

    inputs: list[InputDrift]
    predictions: list[InputDrift]
    report: Path

    @property
    def is_drift(self) -> bool:
        """Whether an input or the predictions have drifted."""
        return any(one.is_drift for one in (*self.inputs, *self.predictions))


def measure_drift(
    model: str | Path,
    path: str | Path,
    *,
    output: str | Path | None = None,
    format: InputKind | None = None,
    batch_size: int = 64,
    folder: str | Path = "saved_models",
) -> Drift:
    """Compare new rows with the training rows of an export, write `drift.json` and a page, and print a table.

    Args:
        model: an export's folder or name, or a run's folder (its export is used).
        path: the file of new rows, in a format that `tfattn predict` reads.
        output: the folder of the results; by default `drift/MODEL/NAME-OF-FILE`.
        format: the format of the file, if neither the suffix nor the training file determines it.
        batch_size: the number of rows in a batch of predictions.
        folder: the folder of exports.

    Raises:
        ConfigError: the export has no histograms of its training rows, or the run has no export.
        DataError: the file cannot be read, has no rows, or lacks a column.
        ServingError: there is no such export.
    """
    path = str(path)
    opened = open_run_or_model(str(model), Path(folder), None)
    statistics = statistics_of(opened)
    if statistics is None or not statistics.inputs:
        raise ConfigError(
            "the model has no histograms of its training rows",
            where=str(model),
            expected="an export of a task with targets, by this version of tfattn",
            received="an export without assets.extra/statistics.json"
            if statistics is None
            else "inputs that are files",
            remedy=EXPORT_AGAIN,
        )
    rows = read_rows(opened, path, format)
    inputs = drift.measure(statistics, [row.fields for row in rows])
    predictions, flags = [], {}
    if statistics.predictions:
        served = ServedEnsemble(opened, folder=Path(path).parent, batch_size=batch_size)
        outputs = served.outputs(rows)
        served.labels = tuple(outputs[0].get("scores", ()))
        predictions = drift.measure_predictions(statistics.predictions, served.arrays(outputs), served.labels)
        flags = flags_of(outputs)
    name = model_name(model)
    results = Path(output) if output else Path("drift") / name / Path(path).stem
    return write(inputs, predictions, results, title=f"{name} on {Path(path).name}: drift", rows=len(rows), flags=flags)


def write(
    inputs: Sequence[InputDrift],
    predictions: Sequence[InputDrift],
    folder: Path,
    *,
    title: str,
    rows: int,
    flags: Mapping[str, int],
) -> Drift:
    """Write `drift.json` and `report.html`, and print the table.

    Args:
        inputs, predictions: the drift of each input and of the predictions.
        folder: the folder of the results.
        title: the title of the page.
        rows: the number of new rows.
        flags: see `drift.section`.
    """
    measured = [*inputs, *predictions]
    found = [one.name for one in measured if one.is_drift]
    sentence = f"Drift of {quoted_list(found)}." if found else "No drift is found."
    headline = Headline(
        metric=f"{len(found)} of {len(measured)}",
        sentence=f"{sentence} {count(rows, 'new row')} are compared with the training rows.",
        remarks=[LIMITS],
        facts={},
    )
    shown = [drift.section(inputs, flags)]
    if predictions:
        words = (
            "The predictions for the new rows, compared with the predictions for the rows of the evaluation, which the "
            "model was not trained on."
        )
        columns = ["prediction", *drift.COLUMNS[1:]]
        shown.append(
            Section("Drift of the predictions", [Text(words), Table(columns, [*map(drift.cells, predictions)])])
        )
    files.write_json(folder / "drift.json", {"rows": rows, "drift": bool(found), **_json(inputs, predictions)})
    write_report(Report(title, count(rows, "new row"), headline, shown), folder)
    console.table("Drift", drift.COLUMNS, [*map(drift.cells, measured)], is_result=True)
    console.note(sentence)
    console.note(f"report: {folder / 'report.html'}")
    return Drift(list(inputs), list(predictions), folder / "report.html")


def _json(inputs: Sequence[InputDrift], predictions: Sequence[InputDrift]) -> dict[str, Any]:
    return {
        kind: {
            one.name: {
                "stability_index": one.index,
                "p_value": one.p_value,
                "drift": one.is_drift,
                "kind": one.trained.kind,
                "bins": one.trained.bins,
                "counts": one.trained.counts,
                "new_counts": one.new.counts,
                "missing": one.trained.missing,
                "new_missing": one.new.missing,
            }
            for one in drifts
        }
        for kind, drifts in {"inputs": inputs, "predictions": predictions}.items()
    }
