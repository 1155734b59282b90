"""The contract of examples: conversion of rows to the examples that records store."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import tensorflow as tf

from tfattn.data.examples.encoding import STORED_NAMES, Feature
from tfattn.data.examples.targets import Target
from tfattn.data.examples.transforms import Transform
from tfattn.features import EXAMPLE_ROWS, MASKS, PADDING_MASK
from tfattn.formats.source import Row
from tfattn.preprocessing.padding import stack_fields
from tfattn.preprocessing.preprocessor import Preprocessor
from tfattn.preprocessing.unknown import Unknown

IGNORE_INDEX = -1  # label that the loss ignores


class Example(NamedTuple):
    """The contents of a record.

    Attributes:
        row: index of the row of the example in the given rows; of the first row, if the example has several.
        values: values of features, by the names in the file.
    """

    row: int
    values: dict[str, Any]


class Randomness(NamedTuple):
    """The randomness of examples, which is the same in every process.

    Attributes:
        seeds: (n,) uint64, a seed per row, a function of the seed of the data and the number of the row.
        is_training: whether the examples are for training; evaluation examples do not depend on training options.
    """

    seeds: np.ndarray
    is_training: bool


class Examples:
    """One example per row, and the contract of all examples.

    Subclass it for models whose records are not rows: implement `features`, and `of`, which yields any number of
    examples with the row of each. The rows of a call of `of` are those of one part of one source, in order, so packing
    depends on nothing else. The keyword arguments of a constructor are the keys of `data.examples`.

    Attributes:
        keep_adjacent: whether the examples of a row stay adjacent in training; otherwise they are shuffled separately.
        list_roles: roles whose values are lists of texts; the targets validate them.
        optional_roles: roles whose values may be empty.
        roles_hint: the roles of a row, for messages; "" if `roles` says everything.
        made_of: requirement on rows for messages, such as "texts that have two words".
        allow_precomputed: which examples may be precomputed by another tool, see `completed`: "none", "training" or
            "all".
    """

    keep_adjacent: bool = True
    list_roles: tuple[str, ...] = ()
    optional_roles: tuple[str, ...] = ()
    roles_hint: str = ""
    made_of: str = "rows"
    allow_precomputed: Literal["none", "training", "all"] = "none"

    def choose_roles(self, given: Iterable[str]) -> None:
        """Choose the roles that the examples read among the roles of a source, if rows may have several formats.

        Raises:
            ConfigError: the format of the rows is unclear.
        """

    def require(self, preprocessor: Preprocessor) -> None:
        """Request what the examples need of the preprocessing, such as token positions, and check that it is suitable.

        Raises:
            ConfigError: the preprocessing is not suitable.
        """

    def roles(self, preprocessor: Preprocessor) -> tuple[str, ...]:
        """Return the roles whose values the examples read."""
        return (*preprocessor.fields, *preprocessor.target_fields)

    @property
    def facts(self) -> dict[str, Any]:
        """The facts about the examples for tasks, as JSON values."""
        return {}

    def inputs(self, row: Row, preprocessor: Preprocessor) -> Iterator[dict[str, Any]]:
        """Return the raw fields that the preprocessor reads of a row, once or several times."""
        return iter([row.fields])

    def excluded(self, rows: Sequence[Row], preprocessor: Preprocessor) -> np.ndarray:
        """Find rows to exclude from training: (n,) bool."""
        return preprocessor.excluded(fields_of(rows, preprocessor)).numpy()

    def truncated(self, rows: Sequence[Row], preprocessor: Preprocessor) -> np.ndarray:
        """Find rows that are truncated: (n,) bool."""
        return preprocessor.truncated(fields_of(rows, preprocessor)).numpy()

    def unknown(self, rows: Sequence[Row], preprocessor: Preprocessor) -> dict[str, Unknown]:
        """Count the unknown tokens or values of rows, by field."""
        return preprocessor.unknown(fields_of(rows, preprocessor))

    def features(self, row: Row, preprocessor: Preprocessor, targets: Target) -> dict[str, Feature]:
        """Return the features of examples, by the names in the file.

        Args:
            row: any training row.
            preprocessor, targets: fitted.
        """
        fields = fields_of([row], preprocessor)
        inputs = preprocessor({name: fields[name] for name in preprocessor.fields})
        features = {}
        for name, output in preprocessor.to_records(fields).items():
            if name == EXAMPLE_ROWS:
                continue
            dtype = "int64" if output.dtype.is_integer else "bytes" if output.dtype == tf.string else "float32"
            role = "input" if name in inputs else "target"
            shape = tuple(output.shape[1:])
            features[STORED_NAMES.get(name, name)] = Feature(dtype, shape, MASKS.get(name, PADDING_MASK), role)
        return {**features, **targets.features}

    def of(
        self, rows: Sequence[Row], preprocessor: Preprocessor, targets: Target, randomness: Randomness
    ) -> Iterator[Example]:
        """Yield the examples of rows, in order.

        Args:
            rows: the rows of one part of a source.
            preprocessor, targets: fitted.
            randomness: the randomness of the examples.

        Raises:
            DataError: a row has an invalid target; names file and line.
        """
        outputs = preprocessor.to_records(fields_of(rows, preprocessor))
        row_indices = outputs.pop(EXAMPLE_ROWS, tf.range(len(rows))).numpy().tolist()
        columns = {STORED_NAMES.get(name, name): _values(output) for name, output in outputs.items()}
        for number, index in enumerate(row_indices):
            values = {name: column[number] for name, column in columns.items()}
            yield Example(index, {**values, **targets.encode(rows[index])})

    def completed(self, values: dict[str, Any]) -> dict[str, Any]:
        """Add missing values to a precomputed example, where they follow from the others."""
        return values

    def transforms(self, preprocessor: Preprocessor) -> Sequence[Transform]:
        """List the random transforms of training batches, which differ in each epoch."""
        return ()


def fields_of(rows: Sequence[Row], preprocessor: Preprocessor) -> dict[str, tf.Tensor]:
    """Collect the raw fields of rows for a preprocessor: (B,) each, or (B, N) for lists."""
    return stack_fields([row.fields for row in rows], (*preprocessor.fields, *preprocessor.target_fields))


def _values(output: tf.Tensor | tf.RaggedTensor) -> list[Any]:
    return output.to_list() if isinstance(output, tf.RaggedTensor) else output.numpy().tolist()
