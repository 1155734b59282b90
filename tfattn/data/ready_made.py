"""Examples that another tool has made, as they are."""

import json
from collections.abc import Iterator, Sequence

import numpy as np

from tfattn.data.encoding import Feature
from tfattn.data.examples import Drawing, Example, Examples
from tfattn.data.targets import Target
from tfattn.errors import ConfigError, DataError
from tfattn.features import EXAMPLE
from tfattn.formats.source import Row
from tfattn.preprocessing.preprocessor import Preprocessor
from tfattn.preprocessing.unknown import Unknown


class ReadyMade(Examples):
    """Takes what rows hold as their examples; rows of texts, of another source, are made into examples as ever.

    Args:
        instead_of: the examples of the task, which say what each holds.
    """

    made_of = "examples"

    def __init__(self, instead_of: Examples):
        self._like = instead_of
        self.allow_precomputed = instead_of.allow_precomputed

    def require(self, preprocessor: Preprocessor) -> None:
        """Refuse tasks whose examples no other tool makes, and a preprocessor that does not suit them."""
        if self.allow_precomputed == "none":
            raise ConfigError(
                "this source has examples that are made already",
                key="source.name",
                expected="rows of texts for this task; examples are for pre-training and for question answering",
            )
        self._like.require(preprocessor)

    def roles(self, preprocessor: Preprocessor) -> tuple[str, ...]:
        return self._like.roles(preprocessor)

    def excluded(self, rows: Sequence[Row], preprocessor: Preprocessor) -> np.ndarray:
        return np.zeros(len(rows), bool) if _are_made(rows) else self._like.excluded(rows, preprocessor)

    def truncated(self, rows: Sequence[Row], preprocessor: Preprocessor) -> np.ndarray:
        return np.zeros(len(rows), bool) if _are_made(rows) else self._like.truncated(rows, preprocessor)

    def unknown(self, rows: Sequence[Row], preprocessor: Preprocessor) -> dict[str, Unknown]:
        return {} if _are_made(rows) else self._like.unknown(rows, preprocessor)

    def features(self, row: Row, preprocessor: Preprocessor, targets: Target) -> dict[str, Feature]:
        blank = dict.fromkeys(self._like.roles(preprocessor), "")  # the features of any text are those of this one
        return self._like.features(Row(blank, row.where), preprocessor, targets)

    def of(
        self, rows: Sequence[Row], preprocessor: Preprocessor, targets: Target, drawing: Drawing
    ) -> Iterator[Example]:
        if not _are_made(rows):
            yield from self._like.of(rows, preprocessor, targets, drawing)
            return
        features = self.features(rows[0], preprocessor, targets)
        for index, row in enumerate(rows):
            values = self._like.completed(json.loads(row.fields[EXAMPLE]))
            _check(values, features, preprocessor, row.where)
            yield Example(index, {name: values[name] for name in features})


def _are_made(rows: Sequence[Row]) -> bool:
    """Tell whether rows, all of one source, hold examples."""
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
