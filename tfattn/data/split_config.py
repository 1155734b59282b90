"""The `split` section: division of rows into training, validation, test and calibration rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, NonNegativeInt

from tfattn.config.relations import Below, NotWith, OnlyWith
from tfattn.config.types import Fraction
from tfattn.data.examples.class_targets import NUMBERS, seem_numbers
from tfattn.data.examples.dictionary_encoded import DictionaryEncoded
from tfattn.errors import ConfigError, DataError, listed

TRAIN, VALIDATION, TEST, CALIBRATION = "train", "validation", "test", "calibration"
# Maximum number of folds of groups that approximate a fraction, so that each fold has enough rows of each class.
MAX_PARTS = 20
SHOWN_NUMBERS = 5


@dataclass(frozen=True, kw_only=True)
class Split:
    """Random split of rows into training, validation, test and calibration rows.

    The split is the same for the same seed and labels.

    Args:
        validation: fraction of validation rows; ignored with a `validation_source` or with `folds`.
        test: fraction of test rows.
        calibration: fraction of rows for the `calibration` section, which neither train nor measure the model.
        stratify: whether each class is split by the same fractions, with at least one row per split if possible.
        group: a role of the source, such as `sample`. Rows with the same value stay in one split, which prevents leaks
            between splits. Fractions are then approximated by whole groups.
        hold_out: test rows by value, role: values, such as `panel: [LODC]`; instead of `test`.
        folds: number of folds of cross-validation; one fold is the validation split; instead of `validation`.
        fold: index of the validation fold, from 0.
        leaks: `drop` leaves training rows out whose content is also in a validation or test row; `keep` only reports
            such rows.

    Raises:
        ConfigError: no rows are left for training.

    Example:
        parts = Split(validation=0.2).assign(["leak", "noise"] * 10, seed=7)
        print(parts["train"], parts["validation"])
    """

    validation: Fraction = 0.2
    test: Fraction = 0.0
    calibration: Fraction = 0.0
    stratify: bool = True
    group: str | None = None
    hold_out: Annotated[dict[str, Annotated[list[str], Field(min_length=1)]] | None, NotWith("test")] = None
    folds: Annotated[int, Field(ge=2)] | None = None
    fold: Annotated[NonNegativeInt, OnlyWith("folds"), Below("folds")] = 0
    leaks: Literal["keep", "drop"] = "keep"

    def __post_init__(self):
        fractions = [0 if self.folds else self.validation, self.test, self.calibration]
        if sum(fractions) >= 1:
            raise ConfigError(
                "no rows are left for training",
                key="validation",
                expected="validation, test and calibration together below 1",
                received=" + ".join(map(str, fractions)),
            )

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles of the source that the split reads, in addition to the class."""
        return (*([self.group] if self.group else []), *(self.hold_out or {}))

    def is_held_out(self, fields: dict[str, str]) -> bool:
        """Return whether `hold_out` makes a row a test row."""
        return any(fields[role].strip() in values for role, values in (self.hold_out or {}).items())

    def assign(
        self,
        classes: Sequence[str] | DictionaryEncoded,
        seed: int,
        *,
        locations: Sequence[str] | None = None,
        with_validation: bool = True,
        groups: Sequence[str] | DictionaryEncoded | None = None,
    ) -> dict[str, np.ndarray]:
        """Assign rows to splits.

        Args:
            classes: the class of each row.
            seed: not negative.
            locations: file and line of each row, for messages.
            with_validation: whether validation rows are taken from these rows.
            groups: the group of each row; the rows of a group stay together.

        Returns:
            the row indices of each split that is not empty, ascending.

        Raises:
            DataError: a class has a single row, or there are too few rows or groups.
            ConfigError: there are more folds than rows of some class.
        """
        classes = classes if isinstance(classes, DictionaryEncoded) else DictionaryEncoded.of(classes)
        groups = groups if groups is None or isinstance(groups, DictionaryEncoded) else DictionaryEncoded.of(groups)
        if (with_validation and (self.validation or self.folds)) or self.test or self.calibration:
            _check_classes(classes, locations)
        if groups is None and not self.folds:
            return self._by_rows(classes, seed, self.validation if with_validation else 0.0)
        rows = {TRAIN: np.arange(len(classes))} if groups is not None else self._by_rows(classes, seed, 0.0)
        if self.test and groups is not None:
            self._take(rows, TEST, classes, groups, seed, fraction=self.test)
        if self.calibration and groups is not None:
            fraction = self.calibration * len(classes) / len(rows[TRAIN])
            self._take(rows, CALIBRATION, classes, groups, seed, fraction=fraction)
        if with_validation and (self.validation or self.folds):
            fraction = self.validation * len(classes) / len(rows[TRAIN])
            self._take(rows, VALIDATION, classes, groups, seed, fraction=fraction, folds=self.folds)
        return rows

    def _take(self, rows, part, classes, groups, seed, *, fraction: float, folds: int | None = None) -> None:
        """Move a fold of the training rows, or about a fraction of them, to another split."""
        some = rows[TRAIN]
        classes = classes[some]
        groups = None if groups is None else groups[some]
        taken = [self.fold]
        if not folds:
            most = min(len(groups.names), max(classes.counts.values()) if self.stratify else len(classes))
            count, folds = _closest_ratio(fraction, most)
            taken = list(range(count))
        # Imported late, because only the process that splits the rows needs scikit-learn.
        from tfattn.data.folds import fold_of_rows

        is_taken = np.isin(fold_of_rows(classes, groups, folds=folds, seed=seed, stratify=self.stratify), taken)
        rows[part], rows[TRAIN] = some[is_taken], some[~is_taken]

    def _by_rows(self, classes: DictionaryEncoded, seed: int, validation: float) -> dict[str, np.ndarray]:
        stratum_of_row = classes.codes if self.stratify else np.zeros(len(classes), np.int32)
        counts = np.bincount(stratum_of_row)
        num_validation = _apportion(counts, validation, counts - 1)
        num_test = _apportion(counts, self.test, counts - 1 - num_validation)
        num_calibration = _apportion(counts, self.calibration, counts - 1 - num_validation - num_test)
        shuffled = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed]))).permutation(len(classes))
        by_stratum = shuffled[np.argsort(stratum_of_row[shuffled], kind="stable")]
        parts: dict[str, list[np.ndarray]] = {TRAIN: [], VALIDATION: [], TEST: [], CALIBRATION: []}
        ends = np.cumsum([num_validation, num_test, num_calibration], axis=0).T
        for rows, of_stratum in zip(np.split(by_stratum, np.cumsum(counts)[:-1]), ends, strict=True):
            for name, some in zip((VALIDATION, TEST, CALIBRATION, TRAIN), np.split(rows, of_stratum), strict=True):
                parts[name].append(some)
        return {name: np.sort(np.concatenate(rows)) for name, rows in parts.items() if sum(map(len, rows))}


def _closest_ratio(fraction: float, most: int) -> tuple[int, int]:
    """Find the ratio count / folds closest to a fraction, with 1 <= count < folds."""
    parts = range(2, max(2, min(most, max(MAX_PARTS, round(1 / fraction)))) + 1)
    return min(
        ((min(max(round(fraction * number), 1), number - 1), number) for number in parts),
        key=lambda pair: abs(pair[0] / pair[1] - fraction),
    )


def _apportion(counts: np.ndarray, fraction: float, most: np.ndarray) -> np.ndarray:
    """Apportion a fraction of all rows to strata by largest remainder: at least 1 and at most `most` rows each."""
    exact = counts * fraction
    rows = np.floor(exact).astype(np.int64)
    missing = round(float(exact.sum())) - int(rows.sum())
    rows[np.argsort(rows - exact, kind="stable")[:missing]] += 1
    return np.minimum(np.maximum(rows, int(fraction > 0)), most)


def _check_classes(classes: DictionaryEncoded, locations: Sequence[str] | None) -> None:
    counts = classes.counts
    is_rare = np.array([count == 1 for count in counts.values()], bool)
    if not is_rare.any():
        return
    rare = {classes.names[classes.codes[row]]: row for row in np.flatnonzero(is_rare[classes.codes])}
    locations = locations or [f"row:{row}" for row in range(len(classes))]
    name, row = next(iter(rare.items()))
    if seem_numbers(counts):
        raise DataError(
            "the column of the label seems to hold numbers",
            where=locations[row].rpartition(":")[0],
            expected="a few classes, each in several rows",
            received=f"{len(counts):,} different values in {len(classes):,} rows, {len(rare):,} of them in one row each"
            f", such as {listed(rare, SHOWN_NUMBERS)}",
            remedy=NUMBERS,
        )
    lines = [f"{name!r} in line {locations[row].rpartition(':')[2]}" for name, row in rare.items()]
    raise DataError(
        f"the class {name!r} has one row" if len(rare) == 1 else f"{len(rare):,} classes have one row each",
        where=locations[row],
        expected="at least 2, one to train and one to measure",
        received=listed(lines) if len(rare) > 1 else "",
        remedy="Add rows of such classes, take them out, or give a `validation_source`.",
    )
