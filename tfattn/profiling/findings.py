"""Findings: what is probably wrong with raw rows, where, in how many rows, and the setting that helps."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from tfattn.data.preparation.duplicates import Duplicates
from tfattn.data.preparation.findings import MAX_UNKNOWN, brief
from tfattn.data.split_config import TRAIN
from tfattn.evaluation.drift import InputDrift
from tfattn.evaluation.wording import count, number, percent, quoted_list
from tfattn.profiling.columns import Column, Lengths
from tfattn.profiling.near_duplicates import Pair
from tfattn.profiling.predictive_power import GIVES_AWAY
from tfattn.profiling.raw_rows import RawRows
from tfattn.recipes.plan import flow

FindingKind = Literal[
    "no_split",
    "leaked_rows",
    "gives_away",
    "near_leaks",
    "identifier",
    "constant",
    "drift",
    "conflicts",
    "duplicates",
    "near_duplicates",
    "missing_target",
    "missing_values",
    "no_number",
    "rare_classes",
    "imbalance",
    "truncated",
    "unknown_tokens",
]

MIN_CLASS_ROWS = 10  # of a class that can be learned and measured
MAX_SHARE = 0.9  # of the most frequent class
MAX_TRUNCATED = 0.05  # fraction of rows above which truncation is a finding
SHOWN_ROWS = 3
SHOWN_CLASSES = 5


@dataclass(frozen=True)
class Finding:
    """A possible problem.

    Attributes:
        kind: the kind, for programs.
        what: the problem, a short sentence without a period.
        where: the column, the split or the class.
        rows: the affected rows, as indices, ascending; empty if a whole column is affected.
        remedy: what to do; a setting is in backticks, as YAML.
        locations: file and line of each affected row.
    """

    kind: FindingKind
    what: str
    where: str
    rows: np.ndarray
    remedy: str
    locations: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the finding as one line."""
        shown = brief(self.locations[:SHOWN_ROWS])
        rows = f" ({count(len(self.rows), 'row')}: {shown}{', ...' * (len(self.rows) > SHOWN_ROWS)})" if shown else ""
        line = " ".join(f"{self.where}: {self.what}{rows}. {self.remedy}".split())
        return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in line)


class Findings:
    """The findings on raw rows, the most important first.

    Args:
        rows: the rows.
    """

    def __init__(self, rows: RawRows):
        self._rows = rows
        self.found: list[Finding] = []

    def add(self, kind: FindingKind, what: str, where: str, rows: np.ndarray | Sequence[int], remedy: str) -> None:
        """Add a finding.

        Args:
            kind, what, where, remedy: see `Finding`.
            rows: the affected rows, as indices.
        """
        indices = np.asarray(rows, np.int64)
        locations = tuple(self._rows[int(row)] for row in indices)
        self.found.append(Finding(kind, what, where, indices, remedy, locations))

    def add_split(self) -> None:
        """Find rows that cannot be split, and rows without a target."""
        if (problem := self._rows.problem) is not None:
            self.add("no_split", f"the rows cannot be split: {problem}", "split", [], "All rows are shown as `train`.")
        for role, found in self._rows.dropped.items():
            if found["rows"]:
                what = f"{count(found['rows'], 'row')} without `{role}`, such as {found['first'][0]}, left out"
                kind = "missing_target" if role == self._rows.data.target else "missing_values"
                self.add(kind, what, role, [], "Write the value into the file if an empty value has a meaning.")

    def add_duplicates(self, found: Duplicates, near: Sequence[Pair]) -> None:
        """Find leaks, conflicts, duplicates and near duplicates.

        Args:
            found: the exact duplicates.
            near: pairs of rows that are nearly equal.
        """
        names = self._rows.splits
        for split, rows in names.items():
            leaked = rows[found.is_leaked[rows]]
            if len(leaked):
                what = "rows that are also training rows, so their score is not that of new rows"
                self.add(
                    "leaked_rows", what, f"{split} split", leaked, f"Set `data: {flow({'split': {'leaks': 'drop'}})}`."
                )
        conflicting = np.flatnonzero(found.is_conflicting)
        if len(conflicting):
            self.add(
                "conflicts", "equal rows with different targets", "all splits", conflicting, "Correct their targets."
            )
        repeated = np.flatnonzero(found.is_duplicate)
        if len(repeated):
            what, remedy = "rows that repeat an earlier row", "Remove them, unless each row was observed on its own."
            self.add("duplicates", what, "all splits", repeated, remedy)
        split_of_row = self._rows.split_of_row
        train = 0
        across: dict[str, set[int]] = {}
        within: set[int] = set()
        for pair in near:
            sides = sorted((pair.first, pair.second), key=lambda row: (split_of_row[row] != train, row))
            if split_of_row[sides[0]] == train != split_of_row[sides[1]]:
                name = next(name for name, rows in names.items() if split_of_row[rows[0]] == split_of_row[sides[1]])
                across.setdefault(name, set()).add(sides[1])
            else:
                within.add(sides[1])
        for split, some in across.items():
            what = "rows that are nearly equal to a training row"
            remedy = "If they are versions of a row, give them a common column: `data: {split: {group: COLUMN}}`."
            self.add("near_leaks", what, f"{split} split", sorted(some), remedy)
        if within:
            what = "rows that are nearly equal to another row of their split"
            self.add(
                "near_duplicates", what, "all splits", sorted(within), "Remove them if they are versions of a row."
            )

    def add_columns(self, columns: Sequence[Column], powers: dict[str, float]) -> None:
        """Find columns that say too much or nothing, and cells without a value.

        Args:
            columns: the statistics of the inputs.
            powers: the score of a model of each column alone.
        """
        for column in columns:
            where, score = f"column {column.name}", powers.get(column.name, 0.0)
            remove = f"Remove `{column.name}` from `data.preprocessing.{_key(column)}`"
            if score >= GIVES_AWAY:
                what = f"it predicts the target on its own (score {number(score)} of 1)"
                self.add("gives_away", what, where, [], f"{remove} if it is known only after the target.")
            present = int((~column.missing).sum())
            if column.is_identifier:
                what = f"an identifier is a feature: {column.distinct:,} different values in {count(present, 'row')}"
                setting = flow({"source": {"fields": {"id": column.name}}})
                self.add("identifier", what, where, [], f"{remove}; predictions return it by `data: {setting}`.")
            if column.distinct < 2:
                what = "all rows have the same value" if column.distinct else "no row has a value"
                self.add("constant", what, where, [], f"{remove}.")
            if column.missing.any() and column.distinct:
                what = f"{percent(column.missing.mean())} of the values are missing"
                remedy = (
                    "The model reads the median and a mark; correct the file if that is wrong."
                    if column.kind == "number"
                    else "The model reads a category of its own."
                )
                self.add("missing_values", what, where, np.flatnonzero(column.missing), remedy)
            if column.unread.any():
                rows = np.flatnonzero(column.unread)
                values = sorted({self._rows.columns[column.name][row].strip() for row in rows})[:SHOWN_ROWS]
                setting = flow({"preprocessing": {"missing": [*self._rows.data.markers, *values]}})
                remedy = f"If they mean a missing value, set `data: {setting}`."
                self.add("no_number", "values that are no numbers", where, rows, remedy)

    def add_targets(self) -> None:
        """Find rare classes and imbalance."""
        if not self._rows.data.targets.is_stratified:
            return
        targets = np.array(self._rows.targets, object)
        counts = Counter(self._rows.targets)
        rare = {name: rows for name, rows in counts.most_common() if rows < MIN_CLASS_ROWS}
        if rare:
            names = f"{quoted_list(list(rare), most=SHOWN_CLASSES)}"
            setting = flow({"missing": {self._rows.data.target: list(rare)[:SHOWN_CLASSES]}})
            remedy = (
                f"Drop them by `data: {setting}`, merge them by one name in the file, or keep them and read their "
                "metrics with care."
            )
            what = f"classes with fewer than {MIN_CLASS_ROWS} rows: {names}"
            self.add("rare_classes", what, "target", np.flatnonzero(np.isin(targets, list(rare))), remedy)
        [(name, most)] = counts.most_common(1)
        if len(counts) > 1 and most > MAX_SHARE * len(targets):
            what = f"{percent(most / len(targets))} of the rows are “{name}”, so accuracy says little"
            remedy = "Read the other metrics, or set `data: {batching: {balanced: true}}`."
            self.add("imbalance", what, "target", [], remedy)

    def add_lengths(self, lengths: Lengths) -> None:
        """Find truncated texts and unknown tokens, by split."""
        for split, rows in self._rows.splits.items():
            cut = rows[lengths.is_truncated[rows]]
            if len(cut) > MAX_TRUNCATED * len(rows):
                most = int(np.quantile(lengths.lengths[rows], 1 - MAX_TRUNCATED))
                at_least = "" if lengths.unit == "tokens" else "at least "
                what = f"{at_least}{percent(len(cut) / len(rows))} of the texts are cut at {lengths.max_length} tokens"
                remedy = f"`data: {{preprocessing: {{max_length: {most}}}}}` reads 95% of the rows whole."
                self.add("truncated", what, f"{split} split", cut, remedy)
            unknown = lengths.unknown[rows]
            share = unknown.sum() / max(1, lengths.lengths[rows].sum())
            if lengths.unit == "tokens" and share > MAX_UNKNOWN:
                what = f"{percent(share)} of the tokens are unknown to the vocabulary"
                remedy = "Train a vocabulary: `data: {preprocessing: {vocabulary: train}}`."
                self.add("unknown_tokens", what, f"{split} split", rows[unknown > 0], remedy)

    def add_drift(self, split: str, drifts: Sequence[InputDrift]) -> None:
        """Find inputs and targets whose distribution differs from that of the training rows."""
        for drift in drifts:
            if drift.is_drift:
                what = f"{split} rows differ from the {TRAIN} rows (population stability index {number(drift.index)})"
                remedy = "Check where the rows come from; a random split is `data: {split: {validation: 0.2}}`."
                self.add("drift", what, f"column {drift.name}", [], remedy)

    def in_order(self) -> list[Finding]:
        """Return the findings in the order of FindingKind."""
        kinds = get_args(FindingKind)
        return sorted(self.found, key=lambda finding: kinds.index(finding.kind))


def _key(column: Column) -> str:
    return {"number": "numeric", "category": "categorical", "text": "fields"}[column.kind]
