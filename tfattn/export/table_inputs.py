"""The inputs of exports that read tables: one input per column."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow as tf

from tfattn.errors import ExportError
from tfattn.export.servable_row_model import Features, Inputs
from tfattn.features import COLUMN_ATTENTION, SEGMENTS
from tfattn.formats.numbers import read
from tfattn.preprocessing.table import TableColumns
from tfattn.preprocessing.vocabulary import START
from tfattn.trained.ensemble import TrainedEnsemble

MAX_VALUES = 1000  # of a category that the card lists; longer lists are of no use in a form
INPUT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")  # names that TensorFlow does not change


class TableInputs(Inputs):
    """Numeric columns (B,) float32, NaN if missing; categorical columns (B,) string.

    Two outputs (B,) string list columns with values unlike the training data, separated by commas:
    `outside_training_range` lists numbers outside of the training range, `unknown_categories` lists categories that no
    training row has. Both include values that are missing in a column without missing training values. With several
    members a column is listed if all members list it. Predictions are made for such rows too. Infinite numbers are an
    error, which names row and column.

    Args:
        ensemble: the trained models, which read the same columns; each member has its own scaling.

    Raises:
        ExportError: a column's name cannot be an input name; see `check_names`.
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
        tables = self.preprocessors
        numbers = [table.numbers(fields) for table in tables]
        features = [table.features(values, fields) for table, values in zip(tables, numbers, strict=True)]
        outside = [table.outside(values) for table, values in zip(tables, numbers, strict=True)]
        unseen = [table.unseen(values) for table, values in zip(tables, features, strict=True)]
        return features, {
            "outside_training_range": _marked_columns(self._table.numeric, outside),
            "unknown_categories": _marked_columns(self._table.categorical, unseen),
        }

    def labels(self, features: Features) -> dict[str, tf.Tensor]:
        """Label the tokens of a row: [CLS], then one token and word per column."""
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

    def metadata(self) -> dict[str, Any]:
        return {
            "inputs": {name: self._column_metadata(name) for name in self.names},
            "entries": {COLUMN_ATTENTION: list(self.names)},
        }

    def request(self, rows: Sequence[Mapping[str, str]]) -> dict[str, list[Any]]:
        return {name: [self._value(name, row[name]) for row in rows] for name in self.names}

    def _column_metadata(self, name: str) -> dict[str, Any]:
        """Return the metadata of a column, merged over all members."""
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
            "values": values if len(values) <= MAX_VALUES else None,
            "no_value": min(self._table.missing, default=None, key=len),
        }

    def _value(self, name: str, text: str) -> float | str:
        if name not in self._table.numeric:
            return text
        number = None if text.strip() in self._table.missing else read(text.strip())
        return math.nan if number is None else number


def _marked_columns(columns: Sequence[str], marked: Sequence[tf.Tensor]) -> tf.Tensor:
    """Join the names of the columns that all members mark, (B, K) bool each, with commas: (B,) string."""
    names = tf.constant([f"{name}, " for name in columns], tf.string)
    joined = tf.strings.reduce_join(tf.where(tf.reduce_all(tf.stack(marked), axis=0), names, ""), axis=1)
    return tf.strings.regex_replace(joined, ", $", "")


def check_names(columns: Sequence[str]) -> None:
    """Check that TensorFlow can use column names as input names.

    Raises:
        ExportError: a name has characters other than ASCII letters, digits, `_`, `-` and `.`, does not start with a
            letter or digit, or differs from another name only in case and punctuation.
    """
    taken: dict[str, str] = {}
    for column in columns:
        # TensorFlow's internal, case-insensitive name of the input.
        inner = re.sub("[.-]", "_", column).lower()
        if not INPUT_NAME.fullmatch(column) or column == "self":
            raise ExportError(
                f"the column `{column}` cannot be the name of an input",
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
    """Return a remedy that reads the column under another name."""
    plain = re.sub("[^A-Za-z0-9]+", "_", column).strip("_")
    name = plain if plain.lower() not in ("", "self", avoid) else f"{plain or 'column'}_2"
    return f"Rename it in `data.source.fields`, such as `{name}: {json.dumps(column, ensure_ascii=False)}`."
