"""The profile of a pipeline's raw data: statistics and findings, as lines, as JSON and as a page."""

from collections import Counter
from collections.abc import Collection
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from tfattn import console, files
from tfattn.config.schema import Config
from tfattn.data.preparation.duplicates import Duplicates, find_duplicates
from tfattn.data.preparation.input_statistics import MAX_ROWS, Histogram, InputStatistics
from tfattn.data.preparation.split_assignment import SPLITS
from tfattn.data.split_config import TRAIN
from tfattn.evaluation import drift
from tfattn.evaluation.drift import InputDrift
from tfattn.features import LABEL, LABELS, TARGET
from tfattn.profiling.columns import Column, Lengths, describe, measure_lengths
from tfattn.profiling.findings import Finding, Findings
from tfattn.profiling.near_duplicates import Pair, similar_rows, similar_texts
from tfattn.profiling.predictive_power import predictive_power
from tfattn.profiling.raw_rows import RawRows, is_kept, read_rows
from tfattn.runs.ensemble import member_configs

PROFILE = "profile.json"
MAX_LOCATIONS = 1000  # of a finding in the JSON file
SHOWN_CLASSES = 30


@dataclass(frozen=True)
class Profile:
    """The profile of the raw rows of a pipeline.

    Attributes:
        name: the name of the pipeline.
        rows: the rows.
        columns: the statistics of the inputs.
        lengths: the lengths of texts; None for a table.
        powers: the score of a model of each column alone.
        near: pairs of rows that are nearly equal.
        drifts: by split, the drift of inputs and targets against the training rows.
        findings: possible problems, the most important first.
    """

    name: str
    rows: RawRows
    columns: list[Column]
    lengths: Lengths | None
    powers: dict[str, float]
    near: list[Pair]
    drifts: dict[str, list[InputDrift]]
    findings: list[Finding]

    def classes(self) -> dict[str, dict[str, int]]:
        """Return for each class, the most frequent first, the rows of each split; empty without classes."""
        if self.rows.data.target == TARGET:
            return {}
        of_row = self.rows.targets
        counts = {split: Counter(of_row[row] for row in rows) for split, rows in self.rows.splits.items()}
        return {
            name: {split: counts[split][name] for split in counts}
            for name, _ in sum(counts.values(), Counter()).most_common()
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the profile as JSON values."""
        shown = [field.name for field in fields(Column) if field.name not in ("missing", "unread")]
        columns = {
            column.name: {name: getattr(column, name) for name in shown}
            | {"missing": int(column.missing.sum()), "no_number": int(column.unread.sum())}
            | ({"predictive_power": self.powers[column.name]} if column.name in self.powers else {})
            for column in self.columns
        }
        return {
            "name": self.name,
            "rows": {split: len(rows) for split, rows in self.rows.splits.items()},
            "distinct_targets": len(set(self.rows.targets)),
            "classes": self.classes(),
            "columns": columns,
            "lengths": {} if self.lengths is None else lengths_by_split(self.rows, self.lengths),
            "drift": {split: drift.metrics(found) for split, found in self.drifts.items()},
            "near_duplicates": [
                {"row": self.rows[pair.second], "like": self.rows[pair.first], "similarity": pair.similarity}
                for pair in self.near[:MAX_LOCATIONS]
            ],
            "findings": [
                asdict(finding) | {"rows": len(finding.rows), "locations": finding.locations[:MAX_LOCATIONS]}
                for finding in self.findings
            ],
        }

    def write(self, folder: Path) -> None:
        """Write `profile.json`."""
        files.write_json(folder / PROFILE, self.to_dict())

    def show(self) -> None:
        """Print the number of rows by split and class."""
        classes, splits = self.classes(), self.rows.splits
        rows: list[list[Any]] = [[name, *counts.values()] for name, counts in list(classes.items())[:SHOWN_CLASSES]]
        if len(classes) > SHOWN_CLASSES:
            rows.append([f"... {len(classes) - SHOWN_CLASSES} more", *[""] * len(splits)])
        console.table("Rows", ["class" if classes else "", *splits], [*rows, ["all", *map(len, splits.values())]])


def profile(config: Config) -> Profile:
    """Read the raw rows of a pipeline, and compute their profile.

    Args:
        config: the resolved configuration; of an ensemble the first model is profiled.

    Raises:
        ConfigError: the pipeline has neither texts nor a table, or another target than a class, a number or labels.
        DataError: a file cannot be read, a target is invalid, or no row is complete; names file and line.
    """
    config = member_configs(config)[0]
    with console.step("reading the rows"):
        rows = read_rows(config)
    columns, lengths = describe(rows), measure_lengths(rows, config)
    identifiers = {column.name for column in columns if column.is_identifier}
    if identifiers and len(identifiers) < len(columns):
        rows.ignore(identifiers)
    with console.step("comparing the rows"):
        near = _near_duplicates(rows, identifiers)
    with console.step("comparing columns and splits"):
        powers, drifts = _powers(rows), _drifts(rows)
    findings = Findings(rows)
    findings.add_split()
    findings.add_duplicates(_duplicates(rows), near)
    findings.add_columns(columns, powers)
    for split, found in drifts.items():
        findings.add_drift(split, found)
    findings.add_targets()
    if lengths is not None:
        findings.add_lengths(lengths)
    return Profile(config.values["name"], rows, columns, lengths, powers, near, drifts, findings.in_order())


def lengths_by_split(rows: RawRows, lengths: Lengths) -> dict[str, dict[str, float]]:
    """Return the median, the 95th percentile and the maximum of lengths, and the truncated and unknown share."""
    return {
        split: {
            "median": float(np.median(lengths.lengths[some])),
            "95 %": float(np.quantile(lengths.lengths[some], 0.95)),
            "longest": int(lengths.lengths[some].max()),
            "truncated": float(lengths.is_truncated[some].mean()),
            "unknown": float(lengths.unknown[some].sum() / max(1, lengths.lengths[some].sum())),
        }
        for split, some in rows.splits.items()
    }


def _duplicates(rows: RawRows) -> Duplicates:
    """Find the exact duplicates among the rows that are in a split."""
    kept = np.flatnonzero(is_kept(rows))
    found = find_duplicates(rows.hashes[kept], rows.strata.codes[kept], rows.split_of_row[kept] == SPLITS.index(TRAIN))
    whole = Duplicates(*(np.zeros(len(rows), bool) for _ in fields(Duplicates)))
    for field in fields(Duplicates):
        getattr(whole, field.name)[kept] = getattr(found, field.name)
    return whole


def _near_duplicates(rows: RawRows, identifiers: Collection[str]) -> list[Pair]:
    """Find rows that are nearly equal; of equal rows, one is compared, a training row if there is one."""
    kept = np.flatnonzero(is_kept(rows))
    kept = kept[np.argsort(rows.split_of_row[kept], kind="stable")]
    _, first = np.unique(rows.hashes[kept], return_index=True)
    chosen = np.sort(kept[first]).tolist()
    if rows.data.may_lack_inputs:
        compared = [cells for name, cells in rows.columns.items() if name not in identifiers]
        pairs = similar_rows([[cells[row].strip() for row in chosen] for cells in compared])
    else:
        pairs = similar_texts([rows.contents[row] for row in chosen])
    return [Pair(chosen[pair.first], chosen[pair.second], pair.similarity) for pair in pairs]


def _powers(rows: RawRows) -> dict[str, float]:
    """Compute the score of each column of a table; empty for texts, and for labels as targets."""
    if rows.data.target == LABELS:
        return {}
    kept = np.flatnonzero(is_kept(rows)).tolist()
    targets = [rows.targets[row] for row in kept]
    return {
        name: predictive_power(
            [rows.columns[name][row].strip() for row in kept],
            targets,
            is_number=kind == "number",
            has_classes=rows.data.target == LABEL,
        )
        for name, kind in rows.data.inputs.items()
        if kind != "text"
    }


def _drifts(rows: RawRows) -> dict[str, list[InputDrift]]:
    """Compare the inputs and the targets of validation and test rows with those of training rows."""
    kinds = {name: "length" if kind == "text" else kind for name, kind in rows.data.inputs.items()}
    columns = dict(rows.columns)
    if rows.data.target not in columns:
        kinds[rows.data.target] = "number" if rows.data.target == TARGET else "category"
        columns[rows.data.target] = rows.targets
    samples = {
        split: some[np.unique(np.linspace(0, len(some) - 1, min(MAX_ROWS, len(some))).astype(int))].tolist()
        for split, some in rows.splits.items()
    }
    trained = samples.pop(TRAIN, [])
    markers = rows.data.markers
    learned = {name: Histogram.learn(kinds[name], [columns[name][row] for row in trained], markers) for name in kinds}
    statistics = InputStatistics(len(trained), learned, list(markers))
    return {
        split: drift.measure(statistics, [{name: columns[name][row] for name in kinds} for row in some])
        for split, some in samples.items()
    }
