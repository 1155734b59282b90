"""Texts, or pairs of them, as requests hold them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tfattn.export.attention import with_segments
from tfattn.export.lengths import one_of_each_length
from tfattn.export.served import Columns
from tfattn.export.served_rows import Features, Inputs, ServedRows
from tfattn.features import CHARACTER_IDS, ENCODED, EXAMPLE_ROWS, PADDING_MASK, SEGMENT_IDS, TOKEN_IDS
from tfattn.formats.columns import even
from tfattn.ops.pooling import mean_by_row
from tfattn.preprocessing.padding import padded
from tfattn.preprocessing.spelling import MAX_WORD_LENGTH
from tfattn.preprocessing.token_labels import source_token_labels
from tfattn.trained.ensemble import TrainedEnsemble

TOKENS = (TOKEN_IDS, PADDING_MASK, SEGMENT_IDS)


class TextInputs(Inputs):
    """Raw texts; and two more signatures.

        features   as serving_default -> encoded (B, D) float32, what the head reads; of several members, one after the
                   other
        tokens     token_ids, padding_mask, segment_ids, each (B, T) int32, and of words that are spelled character_ids
                   (B, T, 50) int32 -> the outputs of serving_default but `truncated`; more tokens than the model takes
                   are refused

    Where each row has several texts (B, N) of the last input, an empty one is none, `encoded` is (B, N, D), and tokens
    are (B, N, T).

    Batches are padded to their longest row. Empty text is predicted like any other. `truncated` (B,) bool says whether
    a text was too long and its end was not read. Of a text that is read in windows, predictions are the mean of those
    of its windows.

    Masks: `tokens` ignores what stands where padding_mask is 0. It also ignores a run of a row's first token at the end
    of that row: a server that batches requests of unequal length pads each input, the mask too, with its first element.
    So of several texts those at the end that repeat the first are none.

    Args:
        ensemble: the trained models, which read tokens of the same vocabulary.
        lists: the inputs of which each row has several texts: the last one, or none.
    """

    def __init__(self, ensemble: TrainedEnsemble, *, lists: Collection[str] = ()):
        self.preprocessors = ensemble.preprocessors[:1]  # all of them have the same
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

    def shown(self, *columns: tf.Tensor) -> tuple[Features, dict[str, tf.Tensor]]:
        """Read texts; of one that takes several windows the first alone, and it counts as truncated."""
        features, about = self.read(columns)
        return first_of_rows(features[0], about["truncated"])

    def labels(self, features: Features) -> dict[str, tf.Tensor]:
        real = features[PADDING_MASK]
        return with_segments(self._labels(features[TOKEN_IDS], real), features[SEGMENT_IDS], real)

    def about(self) -> dict[str, Any]:
        most = self.preprocessors[0].max_tokens
        kinds = {name: "texts" if name in self.lists else "text" for name in self.names}
        return {"inputs": {name: {"kind": kind, "max_tokens": most} for name, kind in kinds.items()}, "entries": {}}

    def request(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
        return {name: even([row[name] for row in rows]) for name in self.names}

    def warm_up(self, rows: Sequence[Mapping[str, str]]) -> list[Columns]:
        """Choose a row of every length there may be, each alone and all together."""
        chosen = one_of_each_length(self._lengths, self.request(rows))
        alone = [
            {name: [values[place]] for name, values in chosen.items()} for place in range(len(chosen[self.names[0]]))
        ]
        return [*alone, chosen]

    def signatures(self, served: ServedRows) -> dict[str, Any]:
        def encode(*texts: tf.Tensor) -> dict[str, tf.Tensor]:
            features, _ = self.read(texts)
            encoded = tf.concat([outputs[ENCODED] for outputs in served.run(features)], axis=-1)
            rows = features[0].get(EXAMPLE_ROWS)
            return {ENCODED: encoded if rows is None else mean_by_row(encoded, rows, tf.size(texts[0]))}

        def answer(*tokens: tf.Tensor) -> dict[str, tf.Tensor]:
            return served.answered(self._for_each(self.of_tokens(*tokens)), tf.shape(tokens[0])[0])

        return {
            "features": tf.function(encode, input_signature=self.specs, autograph=False),
            "tokens": tf.function(answer, input_signature=self.token_specs, autograph=False),
        }

    @property
    def token_specs(self) -> list[tf.TensorSpec]:
        """What `of_tokens` takes, in order."""
        shape = [None] * (2 + len(self.lists))
        specs = [tf.TensorSpec(shape, tf.int32, name=name) for name in TOKENS]
        if self.preprocessors[0].spells:
            specs.append(tf.TensorSpec([*shape, MAX_WORD_LENGTH], tf.int32, name=CHARACTER_IDS))
        return specs

    def warm_up_signatures(self, columns: Columns) -> Iterator[tuple[str, Columns]]:
        yield "features", columns
        yield "tokens", self.tokens(columns)

    def tokens(self, fields: Columns) -> dict[str, tf.Tensor]:
        """Raw fields, B values each, as the signature `tokens` takes them, each (B, T) int32."""
        features = self._features({name: tf.constant(fields[name], tf.string) for name in self.names})
        return {spec.name: tf.cast(features[spec.name], tf.int32) for spec in self.token_specs}

    def _lengths(self, fields: Columns) -> np.ndarray:
        """Count the tokens of each row, those of all of its windows; of several texts those of the longest."""
        features = self._features({name: tf.constant(fields[name], tf.string) for name in self.names})
        tokens = np.sum(features[PADDING_MASK], axis=-1)
        tokens = tokens.max(axis=1) if self.lists else tokens
        rows = features.get(EXAMPLE_ROWS, np.arange(len(tokens)))
        return np.bincount(rows, weights=tokens, minlength=len(fields[self.names[0]]))

    def _features(self, fields: Mapping[str, tf.Tensor]) -> Features:
        return padded(self.preprocessors[0](fields))

    def _for_each(self, features: Features) -> list[Features]:
        return [features] * self._models

    def of_tokens(
        self, token_ids: tf.Tensor, padding_mask: tf.Tensor, segment_ids: tf.Tensor, *character_ids: tf.Tensor
    ) -> Features:
        """Turn the inputs of the signature `tokens` into features; more than the model takes fail."""
        length = tf.shape(token_ids)[-1]
        first = token_ids[..., :1]
        if self.lists:  # a text that is not there has no first token, but others of its row have
            first = tf.reduce_max(first, axis=1, keepdims=True)
        too_long = f"sequences may be up to {self._max_length} tokens long"
        with tf.control_dependencies([tf.debugging.assert_less_equal(length, self._max_length, too_long)]):
            real = tf.logical_and(tf.cast(padding_mask, tf.bool), tf.logical_not(_padded_by_server(token_ids, first)))
        if self.lists:  # a text of which nothing is left but its first token is one that the server has added
            real = tf.logical_and(real, tf.reduce_sum(tf.cast(real, tf.int32), axis=-1, keepdims=True) > 1)
        # Whatever was sent for padding, it need not be a token of the vocabulary.
        return {
            TOKEN_IDS: tf.where(real, token_ids, 0),
            PADDING_MASK: real,
            SEGMENT_IDS: tf.where(real, segment_ids, 0),
            **({CHARACTER_IDS: tf.where(real[..., None], character_ids[0], 0)} if character_ids else {}),
        }


def first_of_rows(features: Features, truncated: tf.Tensor) -> tuple[Features, dict[str, tf.Tensor]]:
    """Return the first example of each of B rows, and whether a row is cut or has more than that, (B,)."""
    if EXAMPLE_ROWS not in features:
        return features, {"truncated": truncated}
    rows = features[EXAMPLE_ROWS]
    numbers = tf.range(tf.size(truncated), dtype=rows.dtype)
    first, behind = (tf.searchsorted(rows, numbers, side=side) for side in ("left", "right"))
    read = {name: tf.gather(features[name], first) for name in TOKENS}
    return read, {"truncated": truncated | (behind - first > 1)}


def _padded_by_server(values: tf.Tensor, first: tf.Tensor) -> tf.Tensor:
    """Find where rows end in repetitions of their first value; no text does, it ends in another: (..., T) bool."""
    repeats = tf.cast(tf.equal(values, first), tf.int32)
    run = tf.math.cumprod(repeats, axis=-1, reverse=True)
    is_first = tf.equal(tf.range(tf.shape(values)[-1]), 0)
    return tf.logical_and(tf.cast(run, tf.bool), tf.logical_not(is_first))
