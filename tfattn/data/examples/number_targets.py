"""Targets of regression: a number per row."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from tfattn.data.examples.dictionary_encoded import DictionaryEncoded
from tfattn.data.examples.encoding import Feature
from tfattn.data.examples.targets import Target
from tfattn.errors import DataError
from tfattn.features import TARGET, TARGET_VALUES
from tfattn.formats.numbers import describe_expected, read
from tfattn.formats.source import Row


class Numbers(Target):
    """A number for each row, from the role `target`, in the unit of the file.

    The number is stored as float32, with about seven digits, and must be finite. Splits are not stratified by it.
    """

    roles = text_roles = (TARGET,)

    def __init__(self) -> None:
        self.use({"mean": 0.0, "deviation": 1.0, "low": 0.0, "high": 1.0})

    @property
    def features(self) -> dict[str, Feature]:
        return {TARGET_VALUES: Feature("float32", role="target")}

    @property
    def facts(self) -> dict[str, Any]:
        """Return `mean` and `deviation` of the training rows, and `low` and `high`, minimum and maximum."""
        return self._facts

    def use(self, facts: dict[str, Any]) -> None:
        self._facts = facts

    def check(self, row: Row) -> None:
        """Check that the value is a finite number."""
        if read(row.fields[TARGET]) is None:
            raise DataError(
                "the target is no finite number",
                where=row.where,
                expected=f"{describe_expected(row.fields[TARGET])}, or nothing: then the row is left out",
                received=repr(row.fields[TARGET]),
                remedy="Correct the row, or name another column in `fields.target`.",
            )

    def fit(self, strata: DictionaryEncoded, rows: Iterable[Row]) -> None:
        """Compute mean and deviation.

        Raises:
            DataError: all rows have the same number, or numbers that are equal in float32.
        """
        numbers = np.fromiter((read(row.fields[TARGET]) for row in rows), np.float64)
        mean, deviation = float(numbers.mean()), float(numbers.std())
        step = float(np.spacing(np.float32(np.abs(numbers).max())))
        if np.ptp(numbers) > 0 and deviation < step:
            raise DataError(
                "the targets are equal in float32",
                expected=f"training rows whose standard deviation is at least {step:.3g}, the distance of neighboring "
                "float32 numbers of this size",
                received=f"{deviation:.3g}, around {mean:.9g}",
                remedy="Subtract a constant from the targets, such as the first timestamp.",
            )
        if np.ptp(numbers) == 0:
            raise DataError(
                "there is nothing to predict",
                expected="training rows whose targets differ",
                received=f"{len(numbers):,} times {numbers[0]:g}",
                remedy="Check which column `fields.target` names.",
            )
        self.use({"mean": mean, "deviation": deviation, "low": float(numbers.min()), "high": float(numbers.max())})

    def encode(self, row: Row) -> dict[str, Any]:
        return {TARGET_VALUES: read(row.fields[TARGET])}
