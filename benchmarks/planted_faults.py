"""Faults planted into real data, and what `tfattn profile` finds of them.

    python -m benchmarks.planted_faults --table telco_churn.csv --target Churn --number MonthlyCharges
    python -m benchmarks.planted_faults --texts train.tsv

The rows are divided at random into training rows and a fifth of validation rows. Then 50 training rows are copied into
the validation rows; 30 near duplicates are added to the training rows (one number changes by 1 % to 5 %, or one word of
at least 8 is replaced); to a table, a column that tells the target of 99 % of the rows, and a column of random codes;
and the validation rows drift (a number grows by 20 %, or only the longer half of the texts is kept). Each fault is
planted alone, and all are planted together. A finding counts if the profile of the unchanged rows does not have it.
"""

import argparse
import csv
import random
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import results
from benchmarks.results import Table
from tfattn.config.resolve import resolve
from tfattn.profiling.profile import Profile, profile
from tfattn.recipes.datasets import plan_data

FAULTS = ("leaked rows", "near duplicates", "column that gives the target away", "identifier", "drift")
KINDS = {
    "leaked rows": ("leaked_rows",),
    "near duplicates": ("near_duplicates", "near_leaks"),
    "column that gives the target away": ("gives_away",),
    "identifier": ("identifier",),
    "drift": ("drift",),
}
LEAKED, NEAR, NOISE, MIN_WORDS = 50, 30, 0.01, 8
FIRST_SEED = 100  # lower seeds were used while the thresholds were set
CODE, ANSWER = "customer_code", "retention_code"
NAME = "name of the row"  # which is not written

Row = dict[str, str]


def parser() -> argparse.ArgumentParser:
    """Create the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    data = parser.add_mutually_exclusive_group(required=True)
    data.add_argument("--table", type=Path, help="a csv file")
    data.add_argument("--texts", type=Path, help="a tsv file with the columns sentence and label")
    parser.add_argument("--target", default="label", help="the target of the table")
    parser.add_argument("--number", help="the number of the table that drifts")
    parser.add_argument("--seeds", type=int, default=5, help="the number of random choices of rows")
    results.add_option(parser)
    return parser


def main(arguments: argparse.Namespace) -> list[Table]:
    """Plant the faults with each seed, and count what is found."""
    path = arguments.table or arguments.texts
    is_table = arguments.table is not None
    with open(path, newline="", encoding="utf-8") as file:
        quoting = csv.QUOTE_MINIMAL if is_table else csv.QUOTE_NONE
        rows = list(csv.DictReader(file, delimiter="," if is_table else "\t", quoting=quoting))
    changed = arguments.number if is_table else "sentence"
    faults = (
        FAULTS if is_table else tuple(name for name in FAULTS if name in ("leaked rows", "near duplicates", "drift"))
    )
    alone, together, before, other, seconds = ({name: [] for name in faults} for _ in range(5))
    for seed in range(FIRST_SEED, FIRST_SEED + arguments.seeds):
        planting = Planting(rows, seed, target=arguments.target, changed=changed, is_table=is_table)
        clean = planting.profile(())
        for fault in faults:
            started = time.perf_counter()
            profiled = planting.profile((fault,))
            seconds[fault].append(time.perf_counter() - started)
            alone[fault].append(scores(planting.planted(fault), of_fault(profiled, fault) - of_fault(clean, fault)))
            before[fault].append(len(of_fault(clean, fault)))
            other[fault].append(
                sum(len(of_fault(profiled, name) - of_fault(clean, name)) for name in faults if name != fault)
            )
        whole = planting.profile(faults)
        for fault in faults:
            together[fault].append(scores(planting.planted(fault), of_fault(whole, fault) - of_fault(clean, fault)))
    columns = [
        "",
        "precision",
        "recall",
        "precision, all planted",
        "recall, all planted",
        "in the file",
        "other findings",
    ]
    cells = [
        [fault, *mean(alone[fault]), *mean(together[fault]), average(before[fault]), average(other[fault])]
        for fault in faults
    ]
    notes = [
        f"{len(rows):,} rows; means of {arguments.seeds} random plantings; a profile takes "
        f"{average([value for values in seconds.values() for value in values])} s."
    ]
    return [Table(title=f"{path.stem}: planted faults that a profile finds", columns=columns, rows=cells, notes=notes)]


class Planting:
    """Rows that are divided at random, and the faults that are planted into them.

    Args:
        rows: all rows.
        seed: seed of all choices.
        target: the column of the target.
        changed: the column that drifts, and that near duplicates change.
        is_table: whether the rows are a table; otherwise `changed` is their text.
    """

    def __init__(self, rows: Sequence[Row], seed: int, *, target: str, changed: str, is_table: bool):
        self._draw = random.Random(seed)
        named = [row | {NAME: str(number)} for number, row in enumerate(rows)]
        shuffled = self._draw.sample(named, len(rows))
        self._validation, self._train = shuffled[: len(rows) // 5], shuffled[len(rows) // 5 :]
        self._target, self._changed, self._is_table = target, changed, is_table
        self._leaked = self._draw.sample(range(len(self._train)), LEAKED)
        usable = [index for index, row in enumerate(self._train) if self._is_usable(row)]
        self._near = self._draw.sample(usable, NEAR)
        self._words = sorted({word for row in self._train[:2000] for word in row[changed].split()})
        self._planted: dict[str, set[Any]] = {}

    def planted(self, fault: str) -> set[Any]:
        """Return the names of the planted rows, or the planted columns."""
        return self._planted[fault]

    def profile(self, faults: Sequence[str]) -> Mapping[str, set[str]]:
        """Plant faults, profile the rows, and return the findings."""
        train, validation = [dict(row) for row in self._train], [dict(row) for row in self._validation]
        if "drift" in faults:
            validation = list(self._drifted(validation))
            self._planted["drift"] = {f"column {self._changed if self._is_table else 'text'}"}
        if "near duplicates" in faults:
            train += [self._similar(self._train[index]) | {NAME: f"near {index}"} for index in self._near]
            # Of the two rows of a pair, a finding names the later row.
            self._planted["near duplicates"] = {f"near {index}" for index in self._near}
        if "column that gives the target away" in faults:
            values = sorted({row[self._target] for row in train})
            for row in [*train, *validation]:
                is_noise = self._draw.random() < NOISE
                row[ANSWER] = f"R{values.index(self._draw.choice(values) if is_noise else row[self._target])}"
            self._planted["column that gives the target away"] = {f"column {ANSWER}"}
        if "identifier" in faults:
            for row in [*train, *validation]:
                row[CODE] = f"{self._draw.getrandbits(40):010x}"
            self._planted["identifier"] = {f"column {CODE}"}
        if "leaked rows" in faults:
            validation += [train[index] | {NAME: f"leaked {index}"} for index in self._leaked]
            self._planted["leaked rows"] = {f"leaked {index}" for index in self._leaked}
        with tempfile.TemporaryDirectory() as folder:
            files = {"train.csv": train, "validation.csv": validation}
            paths = [write(Path(folder) / name, rows) for name, rows in files.items()]
            profiled = profile(resolve(self._pipeline(*paths, faults), []))
        # Lines change where rows are added or left out, so rows have names of their own; the first line is the header.
        names = {f"{file}:{line}": row[NAME] for file, rows in files.items() for line, row in enumerate(rows, start=2)}
        return found(profiled, names)

    def _pipeline(self, train: str, validation: str, faults: Sequence[str]) -> dict[str, Any]:
        values = plan_data([train], target=self._target, ask=lambda problem, answers, option: answers[0]).values
        data = values["data"]
        if "identifier" in faults:
            data["preprocessing"]["categorical"].append(CODE)  # `tfattn init` does not read identifiers
        data["validation_source"], data["split"] = data["source"] | {"path": validation}, {"validation": 0}
        return values

    def _is_usable(self, row: Row) -> bool:
        return bool(row[self._changed].strip()) if self._is_table else len(row[self._changed].split()) >= MIN_WORDS

    def _similar(self, row: Row) -> Row:
        if self._is_table:
            return row | {self._changed: f"{float(row[self._changed]) * self._draw.uniform(1.01, 1.05):.2f}"}
        words = row[self._changed].split()
        words[self._draw.randrange(len(words))] = self._draw.choice(self._words)
        return row | {self._changed: " ".join(words)}

    def _drifted(self, rows: Sequence[Row]) -> Iterator[Row]:
        if self._is_table:
            yield from (row | {self._changed: f"{float(row[self._changed]) * 1.2:.2f}"} for row in rows)
            return
        middle = sorted(len(row[self._changed]) for row in rows)[len(rows) // 2]
        yield from (row for row in rows if len(row[self._changed]) > middle)


def found(profiled: Profile, names: Mapping[str, str]) -> Mapping[str, set[str]]:
    """Return what a profile finds by kind: rows by their names, or columns."""
    by_kind: dict[str, set[str]] = {}
    for finding in profiled.findings:
        affected = {names[Path(location).name] for location in finding.locations} or {finding.where}
        by_kind.setdefault(finding.kind, set()).update(affected)
    return by_kind


def of_fault(by_kind: Mapping[str, set[str]], fault: str) -> set[str]:
    """Return what was found of a fault."""
    return set().union(*(by_kind.get(kind, set()) for kind in KINDS[fault]))


def scores(planted: set[str], claimed: set[str]) -> tuple[float, float]:
    """Return precision and recall."""
    hits = len(planted & claimed)
    return hits / max(1, len(claimed)), hits / len(planted)


def write(path: Path, rows: Sequence[Row]) -> str:
    """Write rows as a csv file."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [name for name in rows[0] if name != NAME], extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    return str(path)


def mean(pairs: Sequence[tuple[float, float]]) -> list[str]:
    """Return mean precision and recall as cells."""
    return [f"{sum(values) / len(values):.3f}" for values in zip(*pairs, strict=True)]


def average(values: Sequence[float]) -> str:
    """Return a mean as a cell."""
    return f"{sum(values) / len(values):.1f}"


if __name__ == "__main__":
    options = parser().parse_args()
    results.publish(main(options), command=results.own_command(), record=options.record)
