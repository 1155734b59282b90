"""What an exported classifier of table rows can be asked."""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import tensorflow as tf

from tfattn.errors import ExportError
from tfattn.export.classifier import Classifier, example
from tfattn.export.served import Columns
from tfattn.features import COLUMN_ATTENTION, ESSENTIAL_FEATURES, LABEL_IDS
from tfattn.formats.numbers import read
from tfattn.preprocessing.table import TableColumns
from tfattn.trained.ensemble import TrainedEnsemble

MOST_VALUES = 1000  # of a category: among more nobody looks for one in a list
WARM_UP_ROWS = (1, 2, 4, 8, 16, 32)
EXPLANATIONS = (ESSENTIAL_FEATURES, COLUMN_ATTENTION)
INPUT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")  # what TensorFlow keeps as it is


class TabularClassifier(Classifier):
    """A classifier from named columns to labels.

        serving_default   numeric columns (B,) float32, NaN where missing; categorical columns (B,) string
                          -> label (B,) string, label_id (B,) int64, probability (B,) float32 of the positive label (of
                          the one that is given, where none is positive), scores (B, C) float32, outside_training_range
                          and unknown_categories (B,) string, the columns whose number or category is not as in
                          training, with commas; and as the model has them essential_features (B, E) and
                          column_attention (B, N + M) float32
        classify          inputs (B,), each a serialized tf.Example with those columns
                          -> classes (B, C) string, scores (B, C) float32

    A number is outside of the training range if it is below or above all that training rows had, a category is unknown
    if none of them had it, and either if it is missing where it never was; of several members, all must say so. Such
    rows are answered; a number that is infinite is refused with row and column.

    Args:
        ensemble: the trained models, which read the same columns, each scaled as its own training rows were; the C
            labels; and the operating point of the positive label, where one was chosen.

    Raises:
        ExportError: a task computes in another type than float32, a label is empty or has a line break, or a column's
            name cannot be an input's: these are of ASCII letters, digits, `_`, `-` and `.`, begin with a letter or
            digit, and differ in more than case and punctuation.
    """

    shown_metrics = ("accuracy", "baseline_accuracy", "sensitivity", "specificity", "roc_auc")

    def __init__(self, ensemble: TrainedEnsemble):
        super().__init__(ensemble, name="tabular_classifier")
        self._positive_id: int | None = ensemble.task.positive_id
        self._threshold = ensemble.operating_point and ensemble.operating_point.threshold
        self._table: TableColumns = ensemble.preprocessor
        self.check_fields(self.inputs)

    @classmethod
    def check_fields(cls, fields: Sequence[str]) -> None:
        """Refuses columns whose names TensorFlow cannot tell apart, or would change."""
        _check_names(fields)

    @property
    def missing(self) -> tuple[str, ...]:
        return self._table.missing

    def signatures(self) -> dict[str, Any]:
        columns = [tf.TensorSpec([None], self._type(name), name=name) for name in self.inputs]
        examples = [tf.TensorSpec([None], tf.string, name="inputs")]
        return {
            "serving_default": tf.function(self._from_columns, input_signature=columns, autograph=False),
            "classify": tf.function(self._from_examples, input_signature=examples, autograph=False),
        }

    def about(self) -> dict[str, Any]:
        about = super().about()
        positive = None if self._positive_id is None else self.labels[self._positive_id]
        return about | {
            "inputs": {name: self._known(name) for name in self.inputs},
            "entries": about["entries"] | {COLUMN_ATTENTION: list(self.inputs)},
            "positive": positive,
            "threshold": self._threshold,
        }

    def request(self, rows: Sequence[Mapping[str, str]]) -> dict[str, list[Any]]:
        return {name: [self._value(name, row[name]) for row in rows] for name in self.inputs}

    def warm_up(self, rows: Sequence[Mapping[str, str]]) -> Iterator[tuple[str, Columns]]:
        """Batches of several sizes."""
        for count in WARM_UP_ROWS:
            yield "serving_default", self.request([rows[number % len(rows)] for number in range(count)])
        some = self.request(rows[:1])
        yield "classify", {"inputs": [example({name: values[0] for name, values in some.items()})]}

    def _known(self, name: str) -> dict[str, Any]:
        """A column as all members know it together."""
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

    def _type(self, name: str) -> tf.DType:
        return tf.float32 if name in self._table.numeric else tf.string

    def _value(self, name: str, text: str) -> float | str:
        if name not in self._table.numeric:
            return text
        number = None if text.strip() in self._table.missing else read(text.strip())
        return math.nan if number is None else number

    def _from_columns(self, *columns: tf.Tensor) -> dict[str, tf.Tensor]:
        fields = dict(zip(self.inputs, columns, strict=True))
        numbers = [table.numbers(fields) for table in self.preprocessors]
        features = [table.features(some, fields) for table, some in zip(self.preprocessors, numbers, strict=True)]
        predictions = self._predicted([run(some) for run, some in zip(self._runs, features, strict=True)])
        scores, label_ids = tf.cast(predictions["scores"], tf.float32), tf.cast(predictions[LABEL_IDS], tf.int64)
        asked = label_ids if self._positive_id is None else tf.ones_like(label_ids) * self._positive_id
        return {
            "label": tf.gather(tf.constant(self.labels), label_ids),
            "label_id": label_ids,
            "probability": tf.gather(scores, asked, batch_dims=1),
            "scores": scores,
            "outside_training_range": _named(
                self._table.numeric,
                [table.outside(some) for table, some in zip(self.preprocessors, numbers, strict=True)],
            ),
            "unknown_categories": _named(
                self._table.categorical,
                [table.unseen(some) for table, some in zip(self.preprocessors, features, strict=True)],
            ),
            **{name: tf.cast(predictions[name], tf.float32) for name in EXPLANATIONS if name in predictions},
        }

    def _from_examples(self, inputs: tf.Tensor) -> dict[str, tf.Tensor]:
        fields = tf.io.parse_example(
            inputs, {name: tf.io.FixedLenFeature([], self._type(name)) for name in self.inputs}
        )
        scores = self._from_columns(*(fields[name] for name in self.inputs))["scores"]
        return {"classes": tf.broadcast_to(tf.constant(self.labels), tf.shape(scores)), "scores": scores}


def _named(columns: Sequence[str], marked: Sequence[tf.Tensor]) -> tf.Tensor:
    """The names, with commas, of those of K columns that all members mark, (B, K) bool each: (B,) string."""
    names = tf.constant([f"{name}, " for name in columns], tf.string)
    joined = tf.strings.reduce_join(tf.where(tf.reduce_all(tf.stack(marked), axis=0), names, ""), axis=1)
    return tf.strings.regex_replace(joined, ", $", "")


def _check_names(columns: Sequence[str]) -> None:
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
