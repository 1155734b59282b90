"""What an exported text classifier can be asked."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tfattn.export.classifier import Classifier, example
from tfattn.export.lengths import one_of_each_length
from tfattn.export.served import Columns
from tfattn.features import ENCODED, EXAMPLE_ROWS, LABEL_IDS, PADDING_MASK, SEGMENT_IDS, TOKEN_IDS
from tfattn.ops.segments import mean_by_row
from tfattn.preprocessing.padding import padded
from tfattn.trained.ensemble import TrainedEnsemble

TOKENS = (TOKEN_IDS, PADDING_MASK, SEGMENT_IDS)


class TextClassifier(Classifier):
    """A classifier from raw text to labels.

    Batches are padded to their longest row. Empty text is predicted like any other. Of a text that is read in windows,
    the scores are the mean of those of its windows.

        serving_default   text (B,), or text_a and text_b
                          -> label (B,) string, label_id (B,) int64, scores (B, C) float32; truncated (B,) bool,
                          whether the text was too long and its end was not read
        classify          inputs (B,), each a serialized tf.Example with those features
                          -> classes (B, C) string, scores (B, C) float32
        features          as serving_default
                          -> encoded (B, D) float32, what the head reads; of several members, one after the other
        tokens            token_ids, padding_mask, segment_ids, each (B, T) int32
                          -> label, label_id, scores as serving_default; more tokens than the model takes are refused

    Masks: `tokens` ignores what stands where padding_mask is 0. It also ignores a run of a row's first token at the end
    of that row: a server that batches requests of unequal length pads each input, the mask too, with its first element.

    Args:
        ensemble: the trained models, which read tokens of the same vocabulary, and the C labels.

    Raises:
        ExportError: a task computes in another type than float32, or a label is empty or has a line break.
    """

    def __init__(self, ensemble: TrainedEnsemble):
        super().__init__(ensemble, name="text_classifier")
        self.preprocessors = self.preprocessors[:1]  # all of them have the same
        self._max_length = min(task.model.max_sequence_length for task in ensemble.tasks)

    def signatures(self) -> dict[str, Any]:
        text = [tf.TensorSpec([None], tf.string, name=field) for field in self.inputs]
        examples = [tf.TensorSpec([None], tf.string, name="inputs")]
        tokens = [tf.TensorSpec([None, None], tf.int32, name=name) for name in TOKENS]
        return {
            "serving_default": tf.function(self._from_text, input_signature=text, autograph=False),
            "classify": tf.function(self._from_examples, input_signature=examples, autograph=False),
            "features": tf.function(self._encode, input_signature=text, autograph=False),
            "tokens": tf.function(self._from_tokens, input_signature=tokens, autograph=False),
        }

    def request(self, rows: Sequence[Mapping[str, str]]) -> dict[str, list[str]]:
        return {field: [row[field] for row in rows] for field in self.inputs}

    def warm_up(self, rows: Sequence[Mapping[str, str]]) -> Iterator[tuple[str, Columns]]:
        """A row of every length there may be, each alone and all together; then each other signature."""
        chosen = one_of_each_length(self._lengths, self.request(rows))
        count = len(chosen[self.inputs[0]])
        for number in range(count):
            yield "serving_default", {field: [values[number]] for field, values in chosen.items()}
        yield "serving_default", chosen
        yield "features", chosen
        yield "tokens", self.tokens(chosen)
        texts = zip(*chosen.values(), strict=True)
        yield "classify", {"inputs": [example(dict(zip(chosen, row, strict=True))) for row in texts]}

    def tokens(self, fields: Columns) -> dict[str, tf.Tensor]:
        """Raw fields, B values each, as the signature `tokens` takes them, each (B, T) int32."""
        features = self._features(tuple(tf.constant(fields[name], tf.string) for name in self.inputs))
        return {name: tf.cast(features[name], tf.int32) for name in TOKENS}

    def _lengths(self, fields: Columns) -> np.ndarray:
        return np.sum(self.tokens(fields)[PADDING_MASK], axis=1)

    def _from_text(self, *texts: tf.Tensor) -> dict[str, tf.Tensor]:
        truncated = self.preprocessors[0].truncated(self._fields(texts))
        return {**self._named(self._features(texts), tf.size(texts[0])), "truncated": truncated}

    def _from_examples(self, inputs: tf.Tensor) -> dict[str, tf.Tensor]:
        fields = tf.io.parse_example(inputs, {name: tf.io.FixedLenFeature([], tf.string) for name in self.inputs})
        scores = self._from_text(*(fields[name] for name in self.inputs))["scores"]
        return {"classes": tf.broadcast_to(tf.constant(self.labels), tf.shape(scores)), "scores": scores}

    def _encode(self, *texts: tf.Tensor) -> dict[str, tf.Tensor]:
        features = self._features(texts)
        encoded = tf.concat([run(features)[ENCODED] for run in self._runs], axis=1)
        if EXAMPLE_ROWS in features:
            encoded = mean_by_row(encoded, features[EXAMPLE_ROWS], tf.size(texts[0]))
        return {ENCODED: encoded}

    def _from_tokens(
        self, token_ids: tf.Tensor, padding_mask: tf.Tensor, segment_ids: tf.Tensor
    ) -> dict[str, tf.Tensor]:
        length = tf.shape(token_ids)[1]
        too_long = f"sequences may be up to {self._max_length} tokens long"
        with tf.control_dependencies([tf.debugging.assert_less_equal(length, self._max_length, too_long)]):
            real = tf.logical_and(tf.cast(padding_mask, tf.bool), tf.logical_not(_padded_by_server(token_ids)))
        # Whatever was sent for padding, it need not be a token of the vocabulary.
        return self._named(
            {
                TOKEN_IDS: tf.where(real, token_ids, 0),
                PADDING_MASK: real,
                SEGMENT_IDS: tf.where(real, segment_ids, 0),
            },
            tf.shape(token_ids)[0],
        )

    def _features(self, texts: tuple[tf.Tensor, ...]) -> dict[str, tf.Tensor]:
        return padded(self.preprocessors[0](self._fields(texts)))

    def _fields(self, texts: tuple[tf.Tensor, ...]) -> dict[str, tf.Tensor]:
        return dict(zip(self.inputs, texts, strict=True))

    def _named(self, features: dict[str, tf.Tensor], num_rows: tf.Tensor) -> dict[str, tf.Tensor]:
        predictions = self._predicted([features] * len(self._runs), num_rows)
        label_ids = tf.cast(predictions[LABEL_IDS], tf.int64)
        return {
            "label": tf.gather(tf.constant(self.labels), label_ids),
            "label_id": label_ids,
            "scores": tf.cast(predictions["scores"], tf.float32),
        }


def _padded_by_server(token_ids: tf.Tensor) -> tf.Tensor:
    """True where a row ends in repetitions of its first token; no text does, it ends in another: (B, T) -> (B, T)."""
    repeats = tf.cast(tf.equal(token_ids, token_ids[:, :1]), tf.int32)
    run = tf.math.cumprod(repeats, axis=1, reverse=True)
    first = tf.equal(tf.range(tf.shape(token_ids)[1]), 0)
    return tf.logical_and(tf.cast(run, tf.bool), tf.logical_not(first))
