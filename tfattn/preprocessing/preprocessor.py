"""The contract of preprocessors, which turn raw fields into features, in training as inside the export."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import tensorflow as tf

from tfattn.errors import ConfigError
from tfattn.preprocessing.unknown import Unknown

Located = Literal["words", "pieces"]

# The `vocabulary` of a preprocessor that learns it, or adopts that of published weights.
TRAIN = "train"
PRETRAINED = "pretrained"


class Preprocessor(tf.Module):
    """The contract: a preprocessor turns a batch of raw fields into features, in the graph.

    It is constructed from its YAML section; then `fit` learns from the training rows, or `load` reads a folder that
    `save` wrote; then it is called.

    Attributes:
        fields: the names of the raw fields that it reads, in order.
        target_fields: the raw fields of the target, which it reads where they are given, as in training.
        reads_columns: whether these are columns of the source, by their own names, whose values may be missing; else
            they are roles, such as `text`, for which the source names a column, and rows without a value are excluded.
        max_length: the longest sequence that it makes, in tokens; None where it makes no sequences.
        needs_pretrained: whether `adopt` has to be called first.
        spells: whether it also tells how each token, which is then a word, is spelled: `character_ids`.
        fits_on_all_rows: whether `fit` reads all training rows, because it counts; else of very many a sample.
        file_fields: those of `fields` whose values are the bytes of files.
    """

    fields: tuple[str, ...]
    target_fields: tuple[str, ...] = ()
    reads_columns: bool = False
    max_length: int | None = None
    needs_pretrained: bool = False
    spells: bool = False
    fits_on_all_rows: bool = False
    file_fields: tuple[str, ...] = ()

    @property
    def sizes(self) -> dict[str, Any]:
        """The sizes that models need, by the names of their arguments; provisional until the preprocessor is fitted."""
        raise NotImplementedError

    @property
    def max_tokens(self) -> int | None:
        """How many tokens of a row it reads; None for all."""
        return self.max_length

    @property
    def files(self) -> list[Path]:
        """The files that `fit` reads, beside the training rows."""
        return []

    def adopt(self, **tokenization: Any) -> None:
        """Adopt the vocabulary of published weights, and how texts are cut; see `Pretrained.tokenization`."""
        raise NotImplementedError

    def check_adopted(self) -> None:
        """Refuse to be fitted as long as `needs_pretrained`.

        Raises:
            ConfigError: its vocabulary is to be that of published weights, which it has not adopted.
        """
        if self.needs_pretrained:
            raise ConfigError(
                "there is no pretrained model whose vocabulary could be used",
                key="vocabulary",
                expected="another `vocabulary`, or `pretrained` in the model's section",
                received=PRETRAINED,
            )

    @property
    def adopted(self) -> dict[str, str]:
        """What it has adopted beside its `files`, by name, as far as what it makes depends on that."""
        return {}

    def locate(self, what: Located) -> None:
        """Let it tell where in the text words, or pieces of words, stand: for tasks that point at places.

        Raises:
            ConfigError: it does not know.
        """
        raise ConfigError(
            f"it does not tell where in a text its {what} stand",
            key="preprocessing",
            expected="wordpiece, for a task that points at places of a text",
            received=type(self).__name__,
        )

    def check(self, row: dict[str, str], where: str) -> None:
        """Refuse a row that cannot be read.

        Args:
            row: raw fields.
            where: file and line, for the message.

        Raises:
            DataError: names the place and the field.
        """

    def fit(self, rows: Iterable[dict[str, str]]) -> None:
        """Learn what is needed (a vocabulary, a scale) from training rows."""
        raise NotImplementedError

    def save(self, folder: Path) -> None:
        """Write what `load` needs into an existing folder, as files that other tools can read."""
        raise NotImplementedError

    def load(self, folder: Path) -> None:
        """Read what `save` wrote."""
        raise NotImplementedError

    def excluded(self, fields: dict[str, tf.Tensor]) -> tf.Tensor:
        """Find rows to exclude from training, too long or of too unequal lengths: (B,) bool; none by default."""
        return tf.zeros(tf.shape(fields[self.fields[0]]), tf.bool)

    @property
    def unknown_remedy(self) -> str:
        """What a user can do where too much is unknown, in full sentences."""
        return ""

    def unknown(self, fields: dict[str, tf.Tensor]) -> dict[str, Unknown]:
        """Count what is unknown in a batch of raw fields, by field; by default nothing can be."""
        return {}

    def __call__(self, fields: dict[str, tf.Tensor]) -> dict[str, Any]:
        """Turn raw fields, each (B,), into features; sequences are ragged (B, (T)).

        Where rows have lists of texts, (B, N), padded with empty ones, sequences are ragged (B, (N), (T)).

        A row may give several examples, or none. Then features are those of all E examples, one row's after the
        other's, and `example_rows` (E,) says of which row each is.
        """
        raise NotImplementedError

    def to_records(self, fields: dict[str, tf.Tensor]) -> dict[str, Any]:
        """Turn raw fields into what records hold; by default the features themselves."""
        return self(fields)

    def from_records(self, features: dict[str, tf.Tensor]) -> dict[str, Any]:
        """Turn a batch of what records hold into features, in the graph of the reader."""
        return features

    def truncated(self, fields: dict[str, tf.Tensor]) -> tf.Tensor:
        """Find rows that are too long and are cut by `__call__`: (B,) bool; by default none."""
        return tf.zeros(tf.shape(fields[self.fields[0]]), tf.bool)
