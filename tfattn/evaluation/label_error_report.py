"""The results of a search for label errors: a list, a page, and the noise matrix."""

import csv
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tfattn import console, files
from tfattn.evaluation.confident_learning import LabelErrors
from tfattn.evaluation.report import Headline, Report, Section, Table, Text
from tfattn.evaluation.report import write as write_report
from tfattn.evaluation.wording import count, percent
from tfattn.features import ID, LABEL

CSV, JSONL, NOISE = "label_errors.csv", "label_errors.jsonl", "noise.json"
MAX_PRINTED, MAX_OPEN, MAX_SHOWN = 10, 20, 200  # rows on the console, of the page, and of the page with folded rows
MAX_SUSPECTED = 0.05  # fraction of the rows, above which there is a warning
OVERLAP = (
    "Many labels are suspected. If the inputs do not determine the label, as in forecasts of behavior, most of the "
    "suspected labels are right: trust only the first rows of the list."
)
MAX_CLASSES = 12  # of the noise matrix of the page
MAX_TEXT, MAX_PRINTED_TEXT = 200, 60  # characters of the inputs of a row


@dataclass(frozen=True)
class SuspectedRows:
    """The rows of a data set with the scores of models that were not trained on them.

    Attributes:
        name: the name of the pipeline.
        labels: the C classes.
        fields: the names of the inputs.
        rows: the inputs of N rows by name.
        locations: file and line of each row.
        ids: the identifier of each row; empty if the rows have none.
        given: (N,) the class ids of the labels.
        scores: (N, C).
        found: the label errors.
        scored_by: the origin of the scores, such as "a baseline, trained on 5 folds".
    """

    name: str
    labels: Sequence[str]
    fields: Sequence[str]
    rows: Sequence[dict[str, Any]]
    locations: Sequence[str]
    ids: Sequence[str]
    given: np.ndarray
    scores: np.ndarray
    found: LabelErrors
    scored_by: str

    def lines(self) -> Iterator[dict[str, Any]]:
        """Yield the label errors, the most certain first, as lines of label_errors.jsonl.

        `label` is the suggested label and `given` the label of the file, so that the lines are corrections.
        """
        for index in self.found.rows.tolist():
            given, suggested = int(self.given[index]), int(self.found.suggested[index])
            yield {
                "row": self.locations[index],
                **({ID: self.ids[index]} if self.ids else {}),
                "given": self.labels[given],
                LABEL: self.labels[suggested],
                "given_score": round(float(self.scores[index, given]), 4),
                "label_score": round(float(self.scores[index, suggested]), 4),
                **{name: self.rows[index][name] for name in self.fields if name not in ("row", ID, "given", LABEL)},
            }


def write(suspected: SuspectedRows, folder: Path) -> Path:
    """Write the list, the noise matrix and the page; print a summary. Return the path of the page.

    Args:
        suspected: the rows.
        folder: the folder of `label_errors.csv`, `label_errors.jsonl`, `noise.json` and `report.html`.
    """
    lines = list(suspected.lines())
    files.write_text(folder / JSONL, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
    names = list(lines[0]) if lines else ["row", "given", LABEL]
    with files.atomic_file(folder / CSV) as path, open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows(lines)
    files.write_json(folder / NOISE, _noise(suspected))
    write_report(_report(suspected, lines), folder)
    if lines:
        printed = [_cells(suspected, line, MAX_PRINTED_TEXT) for line in lines[:MAX_PRINTED]]
        title = f"Probable label errors: {min(MAX_PRINTED, len(lines))} of {len(lines):,}"
        console.table(title, _columns(suspected), printed, is_result=True)
    console.note(_sentence(suspected))
    if len(lines) > MAX_SUSPECTED * len(suspected.given):
        console.note(f"note: {OVERLAP}")
    console.note(f"list: {folder / CSV}")
    console.note(f"report: {folder / 'report.html'}")
    return folder / "report.html"


def _noise(suspected: SuspectedRows) -> dict[str, Any]:
    """Return the numbers of the search as JSON values."""
    found, labels = suspected.found, list(suspected.labels)
    is_known = np.isfinite(found.thresholds)
    return {
        "rows": len(suspected.given),
        "label_errors": len(found.rows),
        "estimated_label_errors": found.estimated,
        "labels": labels,
        "thresholds": [
            float(value) if known else None for value, known in zip(found.thresholds, is_known, strict=True)
        ],
        "estimated_rows_by_given_and_true_label": found.joint.tolist(),
        "probability_of_given_by_true_label": found.noise.tolist(),
    }


def _report(suspected: SuspectedRows, lines: Sequence[dict[str, Any]]) -> Report:
    total, errors, estimated = len(suspected.given), len(lines), suspected.found.estimated
    headline = Headline(
        metric=f"{errors:,}",
        sentence=_sentence(suspected),
        remarks=[
            f"The scores are those of {suspected.scored_by}. No row was scored by a model that was trained on it.",
            "A suspected label may be right: a row may be ambiguous, or unlike all others. Check the rows before you "
            "correct or remove them.",
        ],
        warnings=[OVERLAP] if errors > MAX_SUSPECTED * total else [],
        facts={
            "rows": f"{total:,}",
            "rows with another most likely label": f"{int((suspected.found.margin < 0).sum()):,}",
            "estimated wrong labels": f"{estimated:,.0f} ({percent(estimated / total)})",
        },
    )
    sections = [_list(suspected, lines), _pairs(suspected), _classes(suspected)]
    if len(suspected.labels) <= MAX_CLASSES:
        sections.append(_matrix(suspected))
    return Report(f"{suspected.name}: probable label errors", count(total, "row"), headline, sections)


def _sentence(suspected: SuspectedRows) -> str:
    errors, total = len(suspected.found.rows), len(suspected.given)
    if not errors:
        return f"No label of {count(total, 'row')} is suspected."
    return (
        f"{errors:,} of {count(total, 'label')} ({percent(errors / total)}) {'is' if errors == 1 else 'are'} suspected."
    )


def _list(suspected: SuspectedRows, lines: Sequence[dict[str, Any]]) -> Section:
    title = "Probable label errors"
    if not lines:
        return Section(title, [Text("There are none.")])
    rows = [_cells(suspected, line, MAX_TEXT) for line in lines[:MAX_SHOWN]]
    words = (
        "The most certain rows are first: rows are ordered by the score of the given label less the score of the "
        f"suggested label. {CSV} has all {len(lines):,}."
    )
    tables = [Table(_columns(suspected), rows[:MAX_OPEN])]
    if others := rows[MAX_OPEN:]:
        tables.append(Table(_columns(suspected), others, folded=f"The next {len(others):,} rows"))
    return Section(title, [Text(words), *tables])


def _columns(suspected: SuspectedRows) -> list[str]:
    inputs = suspected.fields[0] if len(suspected.fields) == 1 else "inputs"
    return ["id" if suspected.ids else "row", inputs, "given label", "suggested label", "score", "suggested"]


def _cells(suspected: SuspectedRows, line: dict[str, Any], width: int) -> list[str]:
    """Return the cells of a label error, with shortened inputs."""
    where = str(line[ID]) if suspected.ids else Path(line["row"]).name
    values = [" ".join(str(line.get(name, "")).split()) for name in suspected.fields]
    if len(values) > 2:  # of a table
        values = [f"{name} {value}" for name, value in zip(suspected.fields, values, strict=True)]
    text = (" · " if len(values) > 2 else " | ").join(values)
    shown = text if len(text) <= width else f"{text[: width - 1]}…"
    scores = (percent(line[name]) for name in ("given_score", "label_score"))
    return [where, shown, line["given"], line[LABEL], *scores]


def _pairs(suspected: SuspectedRows) -> Section:
    """Return the pairs of given and true label with the most estimated errors."""
    joint, noise, labels = suspected.found.joint, suspected.found.noise, suspected.labels
    listed = np.zeros_like(joint, dtype=int)
    rows = suspected.found.rows
    np.add.at(listed, (suspected.given[rows], suspected.found.suggested[rows]), 1)
    pairs = [(i, j) for i in range(len(labels)) for j in range(len(labels)) if i != j and joint[i, j] >= 0.5]
    pairs.sort(key=lambda pair: -joint[pair])
    cells = [
        [labels[i], labels[j], round(float(joint[i, j])), percent(float(noise[i, j])), int(listed[i, j])]
        for i, j in pairs[:MAX_SHOWN]
    ]
    words = (
        "The estimated number of rows of each pair, and the probability that a row with the true label has the given "
        "label. The estimate counts rows whose score of another class reaches the threshold of this class."
    )
    columns = ["given label", "true label", "estimated rows", "probability", "listed rows"]
    none = "No pair has an estimated label error."
    return Section("Label errors by class", [Text(words), Table(columns, cells)] if cells else [Text(none)])


def _classes(suspected: SuspectedRows) -> Section:
    """Return the threshold, the rows and the errors of each class."""
    found = suspected.found
    counts = np.bincount(suspected.given, minlength=len(suspected.labels))
    wrong = np.bincount(suspected.given[found.rows], minlength=len(suspected.labels))
    rows = [
        [label, int(counts[index]), float(found.thresholds[index]) if counts[index] else "", int(wrong[index])]
        for index, label in enumerate(suspected.labels)
    ]
    words = "The threshold of a class is the mean score of the class in the rows with this label."
    return Section("Classes", [Text(words), Table(["label", "rows", "threshold", "suspected"], rows)])


def _matrix(suspected: SuspectedRows) -> Section:
    labels, noise = suspected.labels, suspected.found.noise
    rows = [[label, *(percent(float(value)) for value in noise[index])] for index, label in enumerate(labels)]
    words = "The probability of each given label (row) if the true label is the label of the column, as estimated."
    return Section("Noise matrix", [Text(words), Table(["given \\ true", *labels], rows)])
