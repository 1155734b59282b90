"""Named columns of a table, as requests hold them."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow as tf

from tfattn.errors import ExportError
from tfattn.export.served import Columns
from tfattn.export.served_rows import Features, Inputs
from tfattn.features import COLUMN_ATTENTION, SEGMENTS
from tfattn.formats.numbers import read
from tfattn.preprocessing.table import TableColumns
from tfattn.preprocessing.vocabulary import START
from tfattn.trained.ensemble import TrainedEnsemble

MOST_VALUES = 1000  # of a category: among more nobody looks for one in a list
WARM_UP_ROWS = (1, 2, 4, 8, 16, 32)
INPUT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")  # what TensorFlow keeps as it is


class TableInputs(Inputs):
    """Numeric columns (B,) float32, NaN where missing; categorical columns (B,) string.

    `outside_training_range` and `unknown_categories` (B,) string name the columns, with commas, whose number or
    category is not as in training: a number below or above all that training rows had, a category that none of them
    had, and either if it is missing where it never was; of several members, all must say so. Such rows are answered; a
    number that is infinite is refused with row and column.

    Args:
        ensemble: the trained models, which read the same columns, each scaled as its own training rows were.

    Raises:
        ExportError: a column's name cannot be an input's: these are of ASCII letters, digits, `_`, `-` and `.`, begin
            with a letter or digit, and differ in more than case and punctuation.
    """

    def __init__(self, ensemble: TrainedEnsemble):
        self.preprocessors = list(ensemble.preprocessors)
        self._table: TableColumns = ensemble.preprocessor
        self.names = tuple(self._table.fields)
        self.missing = self._table.missing
        check_names(self.names)

    def type_of(self, name: str) -> tf.DType:
        return tf.float32 if name in self._table.numeric else tf.string

    def read(self, columns: Sequence[tf.Tensor]) -> tuple[list[Features], dict[str, tf.Tensor]]:
        fields = dict(zip(self.names, columns, strict=True))
        numbers = [table.numbers(fields) for table in self.preprocessors]
        features = [table.features(some, fields) for table, some in zip(self.preprocessors, numbers, strict=True)]
        outside = [table.outside(some) for table, some in zip(self.preprocessors, numbers, strict=True)]
        unseen = [table.unseen(some) for table, some in zip(self.preprocessors, features, strict=True)]
        return features, {
            "outside_training_range": _named(self._table.numeric, outside),
            "unknown_categories": _named(self._table.categorical, unseen),
        }

    def labels(self, features: Features) -> dict[str, tf.Tensor]:
        """Name the tokens of a row: [CLS], then its columns, each of which is a word."""
        names = tf.constant([START, *self._table.numeric, *self._table.categorical])
        rows = tf.shape(next(iter(features.values())))[0]
        tokens = tf.broadcast_to(names, [rows, tf.size(names)])
        return {
            "tokens": tokens,
            "words": tf.broadcast_to(tf.range(tf.size(names)), tf.shape(tokens)),
            "word_texts": tokens,
            "is_special": tf.broadcast_to(tf.range(tf.size(names)) == 0, tf.shape(tokens)),
            SEGMENTS: tf.zeros_like(tokens, tf.int32),
        }

    def about(self) -> dict[str, Any]:
        return {
            "inputs": {name: self._known(name) for name in self.names},
            "entries": {COLUMN_ATTENTION: list(self.names)},
        }

    def request(self, rows: Sequence[Mapping[str, str]]) -> dict[str, list[Any]]:
        return {name: [self._value(name, row[name]) for row in rows] for name in self.names}

    def warm_up(self, rows: Sequence[Mapping[str, str]]) -> list[Columns]:
        """Batches of several sizes."""
        return [self.request([rows[number % len(rows)] for number in range(count)]) for count in WARM_UP_ROWS]

    def _known(self, name: str) -> dict[str, Any]:
        """Describe a column as all members know it together."""
        if name in self._table.numeric:
            columns = [table.numeric_columns[name] for table in self.preprocessors]
            seen = [column.seen for column in columns]
            return {
                "kind": "number",
                "may_be_missing": all(column.may_be_missing for column in columns),
                "low": min(low for low, _ in seen),
                "high": max(high for _, high in seen),
            }
        values = list(dict.fromkeys(value for table in self.preprocessors for value in table.categories[name]))
        return {
            "kind": "category",
            "values": values if len(values) <= MOST_VALUES else None,
            "no_value": min(self._table.missing, default=None, key=len),
        }

    def _value(self, name: str, text: str) -> float | str:
        if name not in self._table.numeric:
            return text
        number = None if text.strip() in self._table.missing else read(text.strip())
        return math.nan if number is None else number


def _named(columns: Sequence[str], marked: Sequence[tf.Tensor]) -> tf.Tensor:
    """Join the names, with commas, of those of K columns that all members mark, (B, K) bool each: (B,) string."""
    names = tf.constant([f"{name}, " for name in columns], tf.string)
    joined = tf.strings.reduce_join(tf.where(tf.reduce_all(tf.stack(marked), axis=0), names, ""), axis=1)
    return tf.strings.regex_replace(joined, ", $", "")


def check_names(columns: Sequence[str]) -> None:
    """Refuse columns whose names TensorFlow cannot tell apart, or would change.

    Raises:
        ExportError: names the column.
    """
    taken: dict[str, str] = {}
    for column in columns:
        # TensorFlow calls the inputs by such names inside, without regard to case.
        inner = re.sub("[.-]", "_", column).lower()
        if not INPUT_NAME.fullmatch(column) or column == "self":
            raise ExportError(
                f"the column `{column}` cannot be an input of that name",
                expected="ASCII letters, digits, `_`, `-` and `.`, first a letter or digit, other than `self`",
                received=repr(column),
                remedy=_renaming(column),
            )
        if inner in taken:
            raise ExportError(
                f"the columns `{taken[inner]}` and `{column}` cannot both be inputs",
                expected="names that differ in more than case and punctuation",
                remedy=_renaming(column, avoid=inner),
            )
        taken[inner] = column


def _renaming(column: str, *, avoid: str = "") -> str:
    """How a column is read under another name, in the same file."""
    plain = re.sub("[^A-Za-z0-9]+", "_", column).strip("_")
    name = plain if plain.lower() not in ("", "self", avoid) else f"{plain or 'column'}_2"
    return f"Name it in `data.source.fields`, such as `{name}: {json.dumps(column, ensure_ascii=False)}`."
