"""Examples for text embeddings: the texts of each row as separate sequences, all in one record."""

import hashlib
import struct
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import numpy as np
import tensorflow as tf
from pydantic import Field

from tfattn.data.examples.encoding import STORED_NAMES, Feature
from tfattn.data.examples.examples import Example, Examples, Randomness
from tfattn.data.examples.targets import Target
from tfattn.errors import ConfigError, nearest
from tfattn.features import ANCHOR, POSITIVE, TEXT_HASHES
from tfattn.formats.source import Row
from tfattn.preprocessing.preprocessor import Preprocessor
from tfattn.preprocessing.unknown import Unknown


class TextGroups(Examples):
    """Sequences of the N texts of a row, which are encoded independently; rows without one of the texts are dropped.

    The preprocessing reads one text, as the export does.

    Args:
        columns: the roles of the texts: an anchor, a positive text, and any number of hard negatives; a single role for
            single texts (SimCSE).
        prompts: by role, the text that is put before each text, such as `anchor: "query: "`.

    Raises:
        ConfigError: a role occurs twice, a prompt has no role, or the preprocessing reads several texts or windows.
    """

    made_of = "texts"

    def __init__(
        self,
        *,
        columns: Annotated[list[str], Field(min_length=1)] = (ANCHOR, POSITIVE),
        prompts: dict[str, str] | None = None,
    ):
        self.columns = tuple(columns)
        self.prompts = prompts or {}
        if len(set(self.columns)) < len(self.columns):
            received = ", ".join(self.columns)
            raise ConfigError("a role occurs twice", key="columns", expected="different roles", received=received)
        for role in self.prompts:
            if role not in self.columns:
                raise ConfigError(
                    "a prompt has no text",
                    key="prompts",
                    expected=f"one of {', '.join(self.columns)}",
                    received=role,
                    remedy=nearest(role, self.columns),
                )

    @property
    def facts(self) -> dict[str, Any]:
        """Return `columns` and `prompts`."""
        return {"columns": [*self.columns], "prompts": dict(self.prompts)}

    def require(self, preprocessor: Preprocessor) -> None:
        """Check that the preprocessor reads one text, without windows."""
        is_text = not (preprocessor.reads_columns or preprocessor.file_fields or preprocessor.target_fields)
        if not is_text or len(preprocessor.fields) != 1:
            raise ConfigError(
                "each text is encoded by itself",
                key="preprocessing.fields",
                expected="the default, [text]; `data.examples.columns` are the texts of a row",
                received=", ".join(preprocessor.fields),
            )
        if preprocessor.max_tokens is None:
            raise ConfigError(
                "a text has one vector, and no windows",
                key="preprocessing.doc_stride",
                expected="null: of a longer text the rest is cut",
                received="a stride",
            )

    def roles(self, preprocessor: Preprocessor) -> tuple[str, ...]:
        return self.columns

    def inputs(self, row: Row, preprocessor: Preprocessor) -> Iterator[dict[str, str]]:
        (field,) = preprocessor.fields
        return ({field: text} for text in self._texts(row))

    def excluded(self, rows: Sequence[Row], preprocessor: Preprocessor) -> np.ndarray:
        return self._any(preprocessor.excluded(self._flat(rows, preprocessor)))

    def truncated(self, rows: Sequence[Row], preprocessor: Preprocessor) -> np.ndarray:
        return self._any(preprocessor.truncated(self._flat(rows, preprocessor)))

    def unknown(self, rows: Sequence[Row], preprocessor: Preprocessor) -> dict[str, Unknown]:
        return preprocessor.unknown(self._flat(rows, preprocessor))

    def features(self, row: Row, preprocessor: Preprocessor, targets: Target) -> dict[str, Feature]:
        outputs = preprocessor(self._flat([row], preprocessor))
        sequences = {
            STORED_NAMES.get(name, name): Feature("int64", (None, *output.shape[1:]))
            for name, output in outputs.items()
        }
        hashes = Feature("int64", (len(self.columns), 2), role="target")
        return {**sequences, TEXT_HASHES: hashes, **targets.features}

    def of(
        self, rows: Sequence[Row], preprocessor: Preprocessor, targets: Target, randomness: Randomness
    ) -> Iterator[Example]:
        outputs = preprocessor(self._flat(rows, preprocessor))
        sequences = {STORED_NAMES.get(name, name): output.to_list() for name, output in outputs.items()}
        size = len(self.columns)
        for number, row in enumerate(rows):
            texts = {name: values[number * size : (number + 1) * size] for name, values in sequences.items()}
            hashes = [_hash(text) for text in self._texts(row)]
            yield Example(number, {**texts, TEXT_HASHES: hashes, **targets.encode(row)})

    def _texts(self, row: Row) -> list[str]:
        """Return the texts of a row, with their prompts."""
        return [self.prompts.get(role, "") + row.fields[role] for role in self.columns]

    def _flat(self, rows: Sequence[Row], preprocessor: Preprocessor) -> dict[str, tf.Tensor]:
        """Return the texts of all rows as the field of the preprocessor, (B * N,)."""
        (field,) = preprocessor.fields
        return {field: tf.constant([text for row in rows for text in self._texts(row)], tf.string)}

    def _any(self, flags: tf.Tensor) -> np.ndarray:
        """Return whether a flag (B * N,) of the texts of each row is set, (B,)."""
        return flags.numpy().reshape(-1, len(self.columns)).any(axis=1)


def _hash(text: str) -> tuple[int, ...]:
    """Return a hash of a text, two signed numbers of 32 bits."""
    return struct.unpack("<ii", hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest())
