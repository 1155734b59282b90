"""Features of table columns: scaled and encoded numbers, and category ids."""

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import tensorflow as tf
from pydantic import Field, FiniteFloat, PositiveFloat
from typing_extensions import TypedDict

from tfattn import files
from tfattn.errors import ConfigError, DataError, TfattnError, nearest
from tfattn.features import CATEGORY_IDS, NUMERIC
from tfattn.formats.numbers import MISSING, describe_expected, read, stripped
from tfattn.preprocessing.categories import EMPTY_ID, UNKNOWN_ID, Categories, column_values
from tfattn.preprocessing.numeric_columns import NumericColumn, NumericColumns, parse_numbers
from tfattn.preprocessing.preprocessor import Preprocessor
from tfattn.preprocessing.unknown import Unknown

_SAVED = "table.json"


class Saved(TypedDict):
    """The content of table.json: the settings, and the statistics of each column."""

    scaling: str
    bins: int
    missing: list[str]
    numeric: dict[str, NumericColumn]
    categorical: dict[str, list[str]]
    categories_may_be_missing: list[str]


class TableColumns(Preprocessor):
    """Features of numeric and categorical columns, with scales, bins and categories of the training rows.

    Numeric columns may be text, as in files, or float32. A missing number is replaced by the median of the column and
    marked. Spaces around values are ignored.

    Args:
        numeric: the columns of numbers, in the order of the features.
        categorical: the columns of categories, with any values.
        caps: for some numeric columns, the number at which they are saturated: 5000 means "at least 5000".
            Saturated numbers are placed one standard deviation above the highest other number, in a bin of their own.
        multiply: for some numeric columns, a factor that brings them into the range of the others.
        scaling: "standard" gives training values mean 0 and standard deviation 1; "quantile" a normal distribution,
            for skewed columns; "none" leaves numbers unchanged, saturated numbers at the cap.
        bins: Q, the number of bins of each column in piecewise linear encodings; 0 for none.
        missing: the texts that mean a missing value, in numeric and categorical columns.

    Raises:
        ConfigError: there are no columns, a column is listed twice, or a cap or factor is for a column
            that is not numeric.

    Example:
        table = TableColumns(numeric=("age",), categorical=("job",), bins=8)
        table.fit([{"age": "39", "job": "clerk"}, {"age": "50", "job": ""}])
        table({"age": tf.constant(["41"]), "job": tf.constant(["clerk"])})["category_ids"]  # (1, 1) int32

    Source of the encodings: Gorishniy et al. 2022, "On Embeddings for Numerical Features in Tabular Deep Learning".
    """

    reads_columns = True

    def __init__(
        self,
        *,
        numeric: tuple[str, ...] = (),
        categorical: tuple[str, ...] = (),
        caps: dict[str, FiniteFloat] | None = None,
        multiply: dict[str, PositiveFloat] | None = None,
        scaling: Literal["standard", "quantile", "none"] = "standard",
        bins: Annotated[int, Field(ge=0, le=1000)] = 0,
        missing: tuple[str, ...] = MISSING,
    ):
        super().__init__()
        self.numeric = numeric
        self.categorical = categorical
        self.caps = caps
        self.multiply = multiply
        self.scaling = scaling
        self.bins = bins
        self.missing = missing
        self._check_columns()
        self._numeric_columns: NumericColumns | None = None
        self._categories: Categories | None = None

    @property
    def fields(self) -> tuple[str, ...]:
        return (*self.numeric, *self.categorical)

    def fit(self, rows: Iterable[dict[str, str]]) -> None:
        """Learn scales, bins, medians and categories.

        Raises:
            DataError: there are no rows, a numeric column holds text, or a column is constant; names it.
        """
        # Keep numbers and distinct texts only: the texts of many rows would take a hundred times the memory.
        numbers = {name: array("d") for name in self.numeric}
        texts: dict[str, set[str]] = {name: set() for name in self.categorical}
        count = 0
        for count, row in enumerate(rows, start=1):
            self.check(row, f"training row {count}")
            for name, values in numbers.items():
                text = stripped(row[name])
                values.append(math.nan if text in self.missing else read(text))
            for name, distinct in texts.items():
                distinct.add(stripped(row[name]))
        if not count:
            raise DataError("there are no training rows", expected="some, to learn scales and categories from")
        caps, factors = self.caps or {}, self.multiply or {}
        numeric = {
            name: NumericColumn.learn(
                name,
                values,
                cap=caps.get(name),
                factor=factors.get(name, 1.0),
                scaling=self.scaling,
                bins=self.bins,
            )
            for name, values in numbers.items()
        }
        categories = {name: column_values(name, distinct, self.missing, rows=count) for name, distinct in texts.items()}
        self._use(numeric, categories, [name for name, distinct in texts.items() if distinct & set(self.missing)])

    def check(self, row: dict[str, str], where: str) -> None:
        """Refuse a row that has no finite number in a numeric column.

        Args:
            row: raw fields.
            where: file and line, for the message.

        Raises:
            DataError: names the location and the column.
        """
        for name in self.fields:
            if name not in row:
                raise DataError(f"there is no column `{name}`", where=where, expected=f"some of {', '.join(row)}")
        for name in self.numeric:
            if stripped(row[name]) not in self.missing and read(row[name]) is None:
                raise DataError(
                    f"the column `{name}` holds no finite number",
                    where=where,
                    expected=" or ".join([describe_expected(row[name]), *map(repr, self.missing)]),
                    received=repr(row[name]),
                    remedy="Correct the row, add its value to `missing`, or list the column under `categorical`.",
                )

    def save(self, folder: Path) -> None:
        """Write table.json: the settings, and the statistics of each column."""
        numeric, categories = self._fitted
        saved = {
            "scaling": self.scaling,
            "bins": self.bins,
            "missing": list(self.missing),
            "numeric": numeric.to_dict() if numeric else {},
            "categorical": categories.to_dict() if categories else {},
            "categories_may_be_missing": categories.may_be_missing if categories else [],
        }
        files.write_json(Path(folder) / _SAVED, saved)

    def load(self, folder: Path) -> None:
        """Read what `save` wrote; the saved columns and settings replace the arguments of the constructor.

        Raises:
            DataError: the file is missing or damaged.
        """
        saved = files.read_json(Path(folder) / _SAVED, Saved, remedy="Prepare the data again.")
        self.numeric, self.categorical = tuple(saved["numeric"]), tuple(saved["categorical"])
        self.scaling, self.bins, self.missing = saved["scaling"], saved["bins"], tuple(saved["missing"])
        self._use(saved["numeric"], saved["categorical"], saved["categories_may_be_missing"])

    @property
    def sizes(self) -> dict[str, Any]:
        """N as `num_numeric`, the numbers of ids of categorical columns as `category_counts`, Q as `num_bins`."""
        counts = self._categories.counts if self._categories else [2] * len(self.categorical)
        return {"num_numeric": len(self.numeric), "category_counts": list(counts), "num_bins": self.bins}

    @property
    def numeric_columns(self) -> dict[str, NumericColumn]:
        """The statistics of each numeric column, by name."""
        numeric, _ = self._fitted
        return numeric.columns if numeric else {}

    @property
    def categories(self) -> dict[str, list[str]]:
        """The values of each categorical column in the training rows, by name."""
        _, categories = self._fitted
        return categories.values if categories else {}

    def __call__(self, fields: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        """Make features of columns.

        Args:
            fields: for each numeric column strings (B,), or numbers (B,) with NaN for missing values; for each
                categorical column strings (B,).

        Returns:
            `numeric` and `missing` (B, N) float32, and with bins `piecewise` (B, N * Q) float32, if there are numeric
            columns; `category_ids` (B, M) int32, if there are categorical ones.

        Raises:
            tf.errors.InvalidArgumentError: a numeric column holds no finite number; names row (from 1) and column.
        """
        return self.features(self.numbers(fields), fields)

    def numbers(self, fields: dict[str, tf.Tensor]) -> tf.Tensor:
        """Read the numeric columns as numbers (B, N) float32, NaN where missing; arguments and errors as for a call."""
        numeric, _ = self._fitted
        if numeric is None:
            return tf.zeros([tf.shape(fields[self.fields[0]])[0], 0])
        return numeric.check_finite(tf.stack([self._read(fields[name]) for name in self.numeric], axis=1))

    def features(self, numbers: tf.Tensor, fields: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        """Make features of `numbers(fields)` and of the categorical columns among `fields`."""
        numeric, categories = self._fitted
        features = numeric(numbers) if numeric else {}
        if categories:
            features[CATEGORY_IDS] = categories(tf.stack([fields[name] for name in self.categorical], axis=1))
        return features

    def unknown(self, fields: dict[str, tf.Tensor]) -> dict[str, Unknown]:
        """Count the values of categorical columns that no training row has, except missing values."""
        _, categories = self._fitted
        if categories is None:
            return {}
        columns = [fields[name] for name in self.categorical]
        ids = categories(tf.stack(columns, axis=1)).numpy().T
        return {
            name: Unknown.of(np.count_nonzero(numbers != EMPTY_ID), column.numpy()[numbers == UNKNOWN_ID])
            for name, column, numbers in zip(self.categorical, columns, ids, strict=True)
        }

    @property
    def unknown_remedy(self) -> str:
        return (
            "No training row has them. Remove a column whose values are new in every row, such as an id, or make its "
            "categories wider."
        )

    def outside(self, numbers: tf.Tensor) -> tf.Tensor:
        """Find numbers of `numbers(fields)` outside the range of the training rows: (B, N) bool."""
        numeric, _ = self._fitted
        return numeric.outside(numbers) if numeric else tf.zeros(tf.shape(numbers), tf.bool)

    def unseen(self, features: dict[str, tf.Tensor]) -> tf.Tensor:
        """Find categories among `features` that no training row had, a missing value included: (B, M) bool."""
        _, categories = self._fitted
        if categories is None:
            return tf.zeros([tf.shape(features[NUMERIC])[0], 0], tf.bool)
        return categories.unseen(features[CATEGORY_IDS])

    @property
    def _fitted(self) -> tuple[NumericColumns | None, Categories | None]:
        if self._numeric_columns is None and self._categories is None:
            raise TfattnError("the columns are not fitted yet", remedy="Call `fit` or `load` first.")
        return self._numeric_columns, self._categories

    def _use(
        self,
        numeric: Mapping[str, NumericColumn],
        categorical: Mapping[str, Sequence[str]],
        may_be_missing: Sequence[str],
    ) -> None:
        self._numeric_columns = NumericColumns(numeric, scaling=self.scaling, bins=self.bins) if numeric else None
        self._categories = (
            Categories(categorical, missing=self.missing, may_be_missing=may_be_missing) if categorical else None
        )

    def _read(self, column: tf.Tensor) -> tf.Tensor:
        is_text = column.dtype == tf.string
        return parse_numbers(column, self.missing) if is_text else tf.cast(column, tf.float32)

    def _check_columns(self) -> None:
        if not self.fields:
            raise ConfigError("there are no columns", key="numeric", expected="names of columns", received="none")
        for key, names in (("numeric", self.numeric), ("categorical", self.categorical)):
            for name in names:
                if self.fields.count(name) > 1:
                    raise ConfigError("a column is listed twice", key=key, received=name)
        for key, values in (("caps", self.caps), ("multiply", self.multiply)):
            for name in values or {}:
                if name not in self.numeric:
                    raise ConfigError(
                        "not a numeric column",
                        key=key,
                        expected=f"some of {', '.join(self.numeric)}",
                        received=name,
                        remedy=nearest(name, self.numeric),
                    )
