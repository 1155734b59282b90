"""The inputs of exports that read texts or pairs of texts."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tfattn.export.attention import add_segments
from tfattn.export.servable_model import Columns
from tfattn.export.servable_row_model import Features, Inputs, ServableRowModel
from tfattn.export.warmup import sample_each_length
from tfattn.features import CHARACTER_IDS, ENCODED, EXAMPLE_ROWS, NUM_TOKENS, PADDING_MASK, SEGMENT_IDS, TOKEN_IDS
from tfattn.formats.columns import even
from tfattn.ops.pooling import mean_by_row
from tfattn.preprocessing.padding import padded
from tfattn.preprocessing.spelling import MAX_WORD_LENGTH
from tfattn.preprocessing.token_labels import source_token_labels
from tfattn.trained.ensemble import TrainedEnsemble

TOKENS = (TOKEN_IDS, PADDING_MASK, SEGMENT_IDS)


class TextInputs(Inputs):
    """Raw texts. Adds two signatures:

        features   inputs of serving_default -> encoded (B, D) float32, the input of the head; members are concatenated;
                   num_tokens (B,) int32, special tokens included; truncated (B,) bool
        tokens     token_ids, padding_mask, segment_ids, each (B, T) int32, and for character-based vocabularies
                   character_ids (B, T, 50) int32 -> outputs of serving_default without `truncated`; more tokens than
                   the model takes are an error

    An input in `lists` has several texts per row, (B, N): empty strings are padding, `encoded` is (B, N, D), and tokens
    are (B, N, T).

    Batches are padded to their longest row. Empty texts are valid. The output `truncated` (B,) bool is true for rows
    with a truncated text. The prediction for a text that is read in windows is the mean over its windows.

    Masks: `tokens` ignores positions with a padding_mask of 0, and repetitions of a row's first token at its end: a
    server that batches requests of unequal length pads every input, the mask included, with its first element.
    Therefore, texts at the end of a list that repeat its first text are padding too.

    Args:
        ensemble: the trained models, which share a vocabulary.
        lists: the inputs with several texts per row: the last input, or none.
    """

    def __init__(self, ensemble: TrainedEnsemble, *, lists: Collection[str] = ()):
        self.preprocessors = ensemble.preprocessors[:1]  # all members share it
        self.names = tuple(ensemble.preprocessor.fields)
        self.lists = frozenset(lists)
        self._labels = source_token_labels(ensemble.preprocessor)
        self._models = len(ensemble.tasks)
        self._max_length = min(task.model.max_sequence_length for task in ensemble.tasks)

    def type_of(self, name: str) -> tf.DType:
        return tf.string

    def read(self, columns: Sequence[tf.Tensor]) -> tuple[list[Features], dict[str, tf.Tensor]]:
        fields = {
            name: tf.where(_padded_by_server(column, column[:, :1]), "", column) if name in self.lists else column
            for name, column in zip(self.names, columns, strict=True)
        }
        return self._for_each(self._features(fields)), {"truncated": self.preprocessors[0].truncated(fields)}

    def read_for_attention(self, *columns: tf.Tensor) -> tuple[Features, dict[str, tf.Tensor]]:
        """Convert texts to the features of their first window; texts with more windows count as truncated."""
        features, notes = self.read(columns)
        return first_example_of_rows(features[0], notes["truncated"])

    def labels(self, features: Features) -> dict[str, tf.Tensor]:
        real = features[PADDING_MASK]
        return add_segments(self._labels(features[TOKEN_IDS], real), features[SEGMENT_IDS], real)

    def metadata(self) -> dict[str, Any]:
        most = self.preprocessors[0].max_tokens
        kinds = {name: "texts" if name in self.lists else "text" for name in self.names}
        return {"inputs": {name: {"kind": kind, "max_tokens": most} for name, kind in kinds.items()}, "entries": {}}

    def request(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
        return {name: even([row[name] for row in rows]) for name in self.names}

    def warm_up(self, rows: Sequence[Mapping[str, str]]) -> list[Columns]:
        """Return a batch per sample length, then a batch of all of them."""
        chosen = sample_each_length(self._lengths, self.request(rows))
        alone = [
            {name: [values[index]] for name, values in chosen.items()} for index in range(len(chosen[self.names[0]]))
        ]
        return [*alone, chosen]

    def signatures(self, served: ServableRowModel) -> dict[str, Any]:
        def encode(*texts: tf.Tensor) -> dict[str, tf.Tensor]:
            features, notes = self.read(texts)
            encoded = tf.concat([outputs[ENCODED] for outputs in served.run(features)], axis=-1)
            rows, num_rows = features[0].get(EXAMPLE_ROWS), tf.size(texts[0])
            return {
                ENCODED: encoded if rows is None else mean_by_row(encoded, rows, num_rows),
                NUM_TOKENS: count_tokens(features[0], num_rows),
                **notes,
            }

        def predict(*tokens: tf.Tensor) -> dict[str, tf.Tensor]:
            return served.predict(self._for_each(self.token_features(*tokens)), tf.shape(tokens[0])[0])

        return {
            "features": tf.function(encode, input_signature=self.specs, autograph=False),
            "tokens": tf.function(predict, input_signature=self.token_specs, autograph=False),
        }

    @property
    def token_specs(self) -> list[tf.TensorSpec]:
        """The tensor specs of the arguments of `token_features`."""
        shape = [None] * (2 + len(self.lists))
        specs = [tf.TensorSpec(shape, tf.int32, name=name) for name in TOKENS]
        if self.preprocessors[0].spells:
            specs.append(tf.TensorSpec([*shape, MAX_WORD_LENGTH], tf.int32, name=CHARACTER_IDS))
        return specs

    def warm_up_signatures(self, columns: Columns) -> Iterator[tuple[str, Columns]]:
        yield "features", columns
        yield "tokens", self.tokens(columns)

    def tokens(self, fields: Columns) -> dict[str, tf.Tensor]:
        """Convert raw fields, B values each, to the inputs of the signature `tokens`, each (B, T) int32."""
        features = self._features({name: tf.constant(fields[name], tf.string) for name in self.names})
        return {spec.name: tf.cast(features[spec.name], tf.int32) for spec in self.token_specs}

    def _lengths(self, fields: Columns) -> np.ndarray:
        """Return the number of tokens per row, summed over windows, and of the longest text for lists."""
        features = self._features({name: tf.constant(fields[name], tf.string) for name in self.names})
        tokens = np.sum(features[PADDING_MASK], axis=-1)
        tokens = tokens.max(axis=1) if self.lists else tokens
        rows = features.get(EXAMPLE_ROWS, np.arange(len(tokens)))
        return np.bincount(rows, weights=tokens, minlength=len(fields[self.names[0]]))

    def _features(self, fields: Mapping[str, tf.Tensor]) -> Features:
        return padded(self.preprocessors[0](fields))

    def _for_each(self, features: Features) -> list[Features]:
        return [features] * self._models

    def token_features(
        self, token_ids: tf.Tensor, padding_mask: tf.Tensor, segment_ids: tf.Tensor, *character_ids: tf.Tensor
    ) -> Features:
        """Convert the inputs of the signature `tokens` to features; sequences that are too long fail."""
        length = tf.shape(token_ids)[-1]
        first = token_ids[..., :1]
        if self.lists:  # padding texts have no first token; use that of the row's other texts
            first = tf.reduce_max(first, axis=1, keepdims=True)
        too_long = f"sequences may be up to {self._max_length} tokens long"
        with tf.control_dependencies([tf.debugging.assert_less_equal(length, self._max_length, too_long)]):
            real = tf.logical_and(tf.cast(padding_mask, tf.bool), tf.logical_not(_padded_by_server(token_ids, first)))
        if self.lists:  # a text with only a first token was added by the server
            real = tf.logical_and(real, tf.reduce_sum(tf.cast(real, tf.int32), axis=-1, keepdims=True) > 1)
        # Padding values need not be in the vocabulary.
        return {
            TOKEN_IDS: tf.where(real, token_ids, 0),
            PADDING_MASK: real,
            SEGMENT_IDS: tf.where(real, segment_ids, 0),
            **({CHARACTER_IDS: tf.where(real[..., None], character_ids[0], 0)} if character_ids else {}),
        }


def count_tokens(features: Features, num_rows: tf.Tensor) -> tf.Tensor:
    """Count the tokens of each of B rows, (B,) int32, over all of its windows or texts."""
    real = tf.cast(features[PADDING_MASK], tf.int32)
    counts = tf.reduce_sum(real, axis=list(range(1, real.shape.rank)))
    rows = features.get(EXAMPLE_ROWS)
    return counts if rows is None else tf.math.unsorted_segment_sum(counts, rows, num_rows)


def first_example_of_rows(features: Features, truncated: tf.Tensor) -> tuple[Features, dict[str, tf.Tensor]]:
    """Return the first example of each of B rows, and whether the row is truncated or has further examples, (B,)."""
    if EXAMPLE_ROWS not in features:
        return features, {"truncated": truncated}
    rows = features[EXAMPLE_ROWS]
    numbers = tf.range(tf.size(truncated), dtype=rows.dtype)
    first, after = (tf.searchsorted(rows, numbers, side=side) for side in ("left", "right"))
    read = {name: tf.gather(features[name], first) for name in TOKENS}
    return read, {"truncated": truncated | (after - first > 1)}


def _padded_by_server(values: tf.Tensor, first: tf.Tensor) -> tf.Tensor:
    """Return a mask (..., T) of repetitions of the first value at the end of rows; real texts end in another token."""
    repeats = tf.cast(tf.equal(values, first), tf.int32)
    run = tf.math.cumprod(repeats, axis=-1, reverse=True)
    is_first = tf.equal(tf.range(tf.shape(values)[-1]), 0)
    return tf.logical_and(tf.cast(run, tf.bool), tf.logical_not(is_first))
