"""Numeric columns of a table: statistics of the training rows, and features in the graph."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from tfattn.errors import DataError
from tfattn.features import MISSING, NUMERIC, PIECEWISE
from tfattn.formats.numbers import NUMBER
from tfattn.preprocessing.categories import is_in
from tfattn.preprocessing.scales import SCALES, Piecewise, quantile_edges


@dataclass(frozen=True)
class NumericColumn:
    """Statistics of a column in the training rows. All values except the cap are multiplied by the factor.

    Attributes:
        cap: a number at or above it is saturated; None where the column has no cap.
        factor: the factor of the numbers.
        may_be_missing: whether some training rows have no value.
        may_be_saturated: whether some training rows have a saturated value.
        median, low, high: the statistics of training numbers that are neither missing nor saturated.
        saturated: the number that replaces saturated numbers before scaling and encoding: one standard deviation above
            the highest other number, so that it is separate but does not compress the others.
        scale: the learned values of the scale.
        edges: the edges of the bins; with a cap, the last bin has only saturated numbers.
    """

    cap: float | None
    factor: float
    may_be_missing: bool
    may_be_saturated: bool
    median: float
    low: float
    high: float
    saturated: float
    scale: dict[str, Any]
    edges: list[float]

    @property
    def seen(self) -> tuple[float, float]:
        """The lowest and the highest training number, in the unit of the rows; saturated numbers count as the cap."""
        low, high = (float(f"{value / self.factor:.6g}") for value in (self.low, self.high))
        return low, self.cap if self.may_be_saturated else high

    @staticmethod
    def learn(
        name: str, numbers: Sequence[float], *, cap: float | None, factor: float, scaling: str, bins: int
    ) -> "NumericColumn":
        """Compute the statistics of a column.

        Args:
            name: the name of the column, for the message.
            numbers: the numbers of the training rows, NaN if missing.
            cap, factor: see the attributes.
            scaling: a name of scales.SCALES.
            bins: the number of bins, 0 for none.

        Raises:
            DataError: the numbers are all equal, or all missing.
        """
        # In float32 as in the graph, so that distinct numbers are the same in both.
        numbers = np.asarray(numbers, np.float32)
        known = numbers[~np.isnan(numbers)]
        is_saturated = known >= (np.inf if cap is None else cap)
        others = known[~is_saturated] * np.float32(factor)
        varies = len(others) and (others.min() < others.max() or is_saturated.any())
        if not varies:
            raise _constant(name, known, rows=len(numbers), cap=cap)
        low, high = others.min(), others.max()
        step = others.std() if low < high else np.float32(1.0)
        saturated = np.maximum(high + step, np.nextafter(high, np.float32(np.inf)))
        replaced = np.append(others, np.full(is_saturated.sum(), saturated))
        return NumericColumn(
            cap=cap,
            factor=factor,
            may_be_missing=len(known) < len(numbers),
            may_be_saturated=bool(is_saturated.any()),
            median=float(np.median(others)),
            low=float(low),
            high=float(high),
            saturated=float(saturated),
            scale=SCALES[scaling].learn(replaced.astype(np.float64)),
            edges=_edges(others, bins, float(saturated), has_cap=cap is not None),
        )


class NumericColumns:
    """The features of numeric columns, in the graph.

    Args:
        columns: the statistics of each column by name, in order.
        scaling: a name of scales.SCALES.
        bins: Q, or 0 for no piecewise encodings.
    """

    def __init__(self, columns: Mapping[str, NumericColumn], *, scaling: str, bins: int):
        self.columns = dict(columns)
        self.scaling = scaling
        self.bins = bins
        self._scale = SCALES[scaling]([column.scale for column in columns.values()])
        self._piecewise = Piecewise([column.edges for column in columns.values()], bins=bins) if bins else None
        self._caps = np.array([np.inf if c.cap is None else c.cap for c in columns.values()], np.float32)
        # An unsaturated number above the training range must not look saturated.
        self._max_unsaturated = np.array([np.inf if c.cap is None else c.high for c in columns.values()], np.float32)
        self._factors, self._medians, self._lows, self._highs, self._saturated = (
            np.array([getattr(column, name) for column in columns.values()], np.float32)
            for name in ("factor", "median", "low", "high", "saturated")
        )
        self._never_saturated = np.array([not column.may_be_saturated for column in columns.values()])
        self._never_missing = np.array([not column.may_be_missing for column in columns.values()])

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Return the columns' statistics for JSON."""
        return {name: asdict(column) for name, column in self.columns.items()}

    def __call__(self, numbers: tf.Tensor) -> dict[str, tf.Tensor]:
        """Make features of numbers (B, N) float32, NaN where missing.

        Returns:
            `numeric` and `missing` (B, N) float32, and with bins `piecewise` (B, N Q) float32.
        """
        is_missing = tf.math.is_nan(numbers)
        is_saturated = numbers >= self._caps
        multiplied = tf.where(is_missing, self._medians, tf.minimum(numbers, self._caps) * self._factors)
        replaced = tf.where(is_saturated, self._saturated, tf.minimum(multiplied, self._max_unsaturated))
        features = {
            NUMERIC: multiplied if self.scaling == "none" else self._scale(replaced),
            MISSING: tf.cast(is_missing, tf.float32),
        }
        if self._piecewise:
            features[PIECEWISE] = self._piecewise(replaced)
        return features

    def outside(self, numbers: tf.Tensor) -> tf.Tensor:
        """Find numbers (B, N) float32 that are outside the range of the training rows: (B, N) bool.

        Outside are numbers below the lowest or above the highest, saturated numbers if none was saturated, and missing
        numbers if none was missing.
        """
        multiplied = numbers * self._factors
        is_beyond = (multiplied < self._lows) | (multiplied > self._highs)
        is_outside = tf.where(numbers >= self._caps, self._never_saturated, is_beyond)
        return tf.where(tf.math.is_nan(numbers), self._never_missing, is_outside)

    def check_finite(self, numbers: tf.Tensor) -> tf.Tensor:
        """Return the numbers after a check that all are finite.

        Raises:
            tf.errors.InvalidArgumentError: a number is infinite; names the row and the column.
        """
        is_bad = tf.reshape(tf.math.is_inf(numbers), [-1])
        size = tf.size(is_bad)
        index = tf.minimum(
            tf.reduce_min(tf.where(is_bad, tf.range(size), size)), size
        )  # the minimum of no rows is a large number
        name = tf.gather(list(self.columns), index % len(self.columns))
        row = tf.strings.as_string(index // len(self.columns) + 1)
        message = tf.strings.join(["the column `", name, "` holds no finite number in row ", row])
        with tf.control_dependencies([tf.debugging.Assert(tf.equal(index, size), [message])]):
            return tf.identity(numbers)


def parse_numbers(texts: tf.Tensor, missing: Sequence[str]) -> tf.Tensor:
    """Parse texts as numbers, in the graph, with the same rule as in formats/numbers.py.

    Args:
        texts: strings of any shape.
        missing: the texts that mean a missing value.

    Returns:
        float32 of the same shape: NaN for a missing value, infinity for a text that is not a number.
    """
    texts = tf.strings.strip(texts)
    is_number = tf.strings.regex_full_match(texts, NUMBER)
    values = tf.strings.to_number(tf.where(is_number, texts, "inf"), tf.float32)
    return tf.where(is_in(texts, missing), np.nan, values)


def _edges(others: np.ndarray, bins: int, saturated: float, *, has_cap: bool) -> list[float]:
    if not bins:
        return []
    return [*quantile_edges(others, bins - 1), saturated] if has_cap else quantile_edges(others, bins)


def _constant(name: str, known: np.ndarray, *, rows: int, cap: float | None) -> DataError:
    value = f"{known[0]:g}" if len(known) else "no value"
    if cap is not None and len(known) and known.min() >= cap:
        value = f"{cap:g} or more"
    return DataError(
        f"the column `{name}` is constant",
        expected="at least 2 different values among the training rows",
        received=f"{value} in {f'all {rows}' if len(known) == rows else f'{len(known)} of {rows}'} rows",
        remedy="Remove it from `numeric`.",
    )
