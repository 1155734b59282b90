"""Precomputed examples of other tools."""

import json
from collections.abc import Iterator, Sequence

import numpy as np

from tfattn.data.examples.encoding import Feature
from tfattn.data.examples.examples import Example, Examples, Randomness
from tfattn.data.examples.targets import Target
from tfattn.errors import ConfigError, DataError
from tfattn.features import EXAMPLE
from tfattn.formats.source import Row
from tfattn.preprocessing.preprocessor import Preprocessor
from tfattn.preprocessing.unknown import Unknown


class ReadyMade(Examples):
    """Precomputed examples; rows of texts of another source are converted by the examples of the task.

    Args:
        instead_of: the examples of the task, which define the features.
    """

    made_of = "examples"

    def __init__(self, instead_of: Examples):
        self._task_examples = instead_of
        self.allow_precomputed = instead_of.allow_precomputed

    def require(self, preprocessor: Preprocessor) -> None:
        """Check that the task supports precomputed examples, and the preprocessor."""
        if self.allow_precomputed == "none":
            raise ConfigError(
                "this source has examples that are made already",
                key="source.name",
                expected="rows of texts for this task; examples are for pre-training and for question answering",
            )
        self._task_examples.require(preprocessor)

    def roles(self, preprocessor: Preprocessor) -> tuple[str, ...]:
        return self._task_examples.roles(preprocessor)

    def excluded(self, rows: Sequence[Row], preprocessor: Preprocessor) -> np.ndarray:
        return np.zeros(len(rows), bool) if _are_precomputed(rows) else self._task_examples.excluded(rows, preprocessor)

    def truncated(self, rows: Sequence[Row], preprocessor: Preprocessor) -> np.ndarray:
        return (
            np.zeros(len(rows), bool) if _are_precomputed(rows) else self._task_examples.truncated(rows, preprocessor)
        )

    def unknown(self, rows: Sequence[Row], preprocessor: Preprocessor) -> dict[str, Unknown]:
        return {} if _are_precomputed(rows) else self._task_examples.unknown(rows, preprocessor)

    def features(self, row: Row, preprocessor: Preprocessor, targets: Target) -> dict[str, Feature]:
        blank = dict.fromkeys(self._task_examples.roles(preprocessor), "")  # features do not depend on the text
        return self._task_examples.features(Row(blank, row.where), preprocessor, targets)

    def of(
        self, rows: Sequence[Row], preprocessor: Preprocessor, targets: Target, randomness: Randomness
    ) -> Iterator[Example]:
        if not _are_precomputed(rows):
            yield from self._task_examples.of(rows, preprocessor, targets, randomness)
            return
        features = self.features(rows[0], preprocessor, targets)
        for index, row in enumerate(rows):
            values = self._task_examples.completed(json.loads(row.fields[EXAMPLE]))
            _check(values, features, preprocessor, row.where)
            yield Example(index, {name: values[name] for name in features})


def _are_precomputed(rows: Sequence[Row]) -> bool:
    """Return whether the rows of a source are precomputed examples."""
    return EXAMPLE in rows[0].fields


def _check(values: dict, features: dict[str, Feature], preprocessor: Preprocessor, where: str) -> None:
    missing = [name for name in features if name not in values]
    if missing:
        raise DataError(
            "the example lacks what the task needs",
            where=where,
            expected=", ".join(features),
            received=f"none for {', '.join(missing)}",
            remedy="Name another task, or set `data.examples.packing: false` where only `sequence_ids` are missing.",
        )
    length, highest = len(values["input_ids"]), max(values["input_ids"], default=0)
    if length > preprocessor.max_length:
        raise DataError(
            "the example is too long",
            where=where,
            expected=f"at most {preprocessor.max_length} tokens, the `max_length` of `data.preprocessing`",
            received=str(length),
        )
    if highest >= preprocessor.sizes["vocabulary_size"]:
        raise DataError(
            "the example has a token that is not in the vocabulary",
            where=where,
            expected=f"ids below {preprocessor.sizes['vocabulary_size']}",
            received=str(highest),
            remedy="Name the vocab.txt that the examples were made with as `data.preprocessing.vocabulary`.",
        )
