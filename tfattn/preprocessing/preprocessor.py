"""The contract of preprocessors, which turn raw fields into features, in training and in exports."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import tensorflow as tf

from tfattn.errors import ConfigError
from tfattn.preprocessing.unknown import Unknown

Located = Literal["words", "pieces"]

# Values of `vocabulary`: train it, or adopt the vocabulary of published weights.
TRAIN = "train"
PRETRAINED = "pretrained"


class Preprocessor(tf.Module):
    """A preprocessor that turns a batch of raw fields into features, in the graph.

    Construct it from its YAML section, then `fit` it on the training rows or `load` a folder of `save`, then call it.

    Attributes:
        fields: the names of the raw fields to read, in order.
        target_fields: the raw fields of the target, which are optional and given in training.
        reads_columns: whether `fields` are column names of the source, with optional values; else they are roles, as
            `text`, for which the source names a column, and rows without a value are excluded.
        missing: the texts that mean a missing value of a column.
        max_length: the maximum sequence length in tokens; None without sequences.
        needs_pretrained: whether `adopt` must be called before `fit`.
        adopts: the names of other preprocessors whose published tokenization `adopt` takes, too.
        spells: whether tokens are words with `character_ids`.
        fits_on_all_rows: whether `fit` needs all training rows; else it may get a sample.
        file_fields: the subset of `fields` whose values are the bytes of files.
    """

    fields: tuple[str, ...]
    target_fields: tuple[str, ...] = ()
    reads_columns: bool = False
    missing: tuple[str, ...] = ()
    max_length: int | None = None
    needs_pretrained: bool = False
    adopts: tuple[str, ...] = ()
    spells: bool = False
    fits_on_all_rows: bool = False
    file_fields: tuple[str, ...] = ()

    @property
    def sizes(self) -> dict[str, Any]:
        """The sizes that models need, by the names of their arguments; provisional until the preprocessor is fitted."""
        raise NotImplementedError

    @property
    def max_tokens(self) -> int | None:
        """The maximum number of tokens of a row that are read; None for all."""
        return self.max_length

    @property
    def files(self) -> list[Path]:
        """The files that `fit` reads, in addition to the training rows."""
        return []

    def adopt(self, **tokenization: Any) -> None:
        """Adopt the vocabulary and tokenizer settings of published weights; see `Pretrained.tokenization`."""
        raise NotImplementedError

    def check_adopted(self) -> None:
        """Check that `adopt` was called if it is needed.

        Raises:
            ConfigError: the vocabulary of published weights is required but was not adopted.
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
        """The adopted settings on which the features depend, by name, except `files`."""
        return {}

    def locate(self, what: Located) -> None:
        """Add the positions of words or word pieces in the text to the features.

        Raises:
            ConfigError: the preprocessor has no positions.
        """
        raise ConfigError(
            f"the preprocessor does not locate {what} in texts",
            key="preprocessing",
            expected="wordpiece or pretrained_tokenizer, for a task that predicts positions in a text",
            received=type(self).__name__,
        )

    def check(self, row: dict[str, str], where: str) -> None:
        """Refuse a row that cannot be read.

        Args:
            row: raw fields.
            where: file and line, for the message.

        Raises:
            DataError: names the location and the field.
        """

    def fit(self, rows: Iterable[dict[str, str]]) -> None:
        """Learn the state (a vocabulary, a scale) from training rows."""
        raise NotImplementedError

    def save(self, folder: Path) -> None:
        """Write the state into an existing folder, as files that other tools can read."""
        raise NotImplementedError

    def load(self, folder: Path) -> None:
        """Read what `save` wrote."""
        raise NotImplementedError

    @property
    def tables(self) -> dict[str, bytes]:
        """The files that a reader without TensorFlow needs in addition to those of `save`, by name."""
        return {}

    def excluded(self, fields: dict[str, tf.Tensor]) -> tf.Tensor:
        """Find rows to exclude from training, such as too long rows: (B,) bool; none by default."""
        return tf.zeros(tf.shape(fields[self.fields[0]]), tf.bool)

    @property
    def unknown_remedy(self) -> str:
        """The remedy against too many unknown values, in full sentences."""
        return ""

    def unknown(self, fields: dict[str, tf.Tensor]) -> dict[str, Unknown]:
        """Count unknown values in a batch of raw fields, by field; by default there are none."""
        return {}

    def __call__(self, fields: dict[str, tf.Tensor]) -> dict[str, Any]:
        """Turn raw fields, each (B,), into features; sequences are ragged (B, (T)).

        For lists of texts (B, N), padded with empty texts, sequences are ragged (B, (N), (T)).

        A row may have any number of examples, such as windows. Then features are for all E examples, in the order
        of the rows, and `example_rows` (E,) is the row of each.
        """
        raise NotImplementedError

    def to_records(self, fields: dict[str, tf.Tensor]) -> dict[str, Any]:
        """Turn raw fields into the content of records; by default the features."""
        return self(fields)

    def from_records(self, features: dict[str, tf.Tensor]) -> dict[str, Any]:
        """Turn a batch of records into features, in the graph of the reader."""
        return features

    def truncated(self, fields: dict[str, tf.Tensor]) -> tf.Tensor:
        """Find rows that `__call__` truncates: (B,) bool; by default none."""
        return tf.zeros(tf.shape(fields[self.fields[0]]), tf.bool)
