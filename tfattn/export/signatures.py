"""What an exported text classifier can be asked: the functions of its SavedModel, with named inputs and outputs."""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from tfattn.errors import ExportError
from tfattn.features import ENCODED, LABEL_IDS, PADDING_MASK, SEGMENT_IDS, TOKEN_IDS
from tfattn.preprocessing.preprocessor import Preprocessor
from tfattn.tasks.task import Task

PREDICT = "tensorflow/serving/predict"
CLASSIFY = "tensorflow/serving/classify"


class Classification(tf.Module):
    """A classifier from raw text to labels: preprocessing, model and label names in one graph.

    Everything is computed in float32. Batches are of any size, 0 included, and padded to their longest row. Empty text
    is answered like any other.

        serving_default   text (B,), or text_a and text_b
                          -> label (B,) string, label_id (B,) int64, scores (B, C) float32
        classify          inputs (B,), each a serialized tf.Example with those features
                          -> classes (B, C) string, scores (B, C) float32
        features          as serving_default
                          -> encoded (B, D) float32, what the head reads
        tokens            token_ids, padding_mask, segment_ids, each (B, T) int32
                          -> as serving_default

    Masks: `tokens` ignores what stands where padding_mask is 0. It also ignores a run of a row's first token at the end
    of that row: a server that batches requests of unequal length pads each input, the mask too, with its first element.

    Args:
        task: the trained task, built under float32.
        tokenizer: the fitted preprocessor.
        labels: the C label names in the order of their ids.

    Raises:
        ExportError: the task computes in another type than float32, or a label is empty or has a line break.
    """

    def __init__(self, *, task: Task, tokenizer: Preprocessor, labels: Sequence[str]):
        super().__init__(name="classification")
        _check(task, labels)
        self.tokenizer = tokenizer
        self.weights = [variable.value for variable in task.weights]
        # Only the variables above are saved: were the model an attribute, its own functions would be, too. The four
        # signatures share one trace of it.
        run = tf.function(lambda features: task(features, training=False), reduce_retracing=True)
        self._run: Callable[[Any], Any] = lambda features: run(features)
        self._answers: Callable[[Any], Any] = task.answers
        self._labels = tuple(labels)
        self._max_length = task.model.max_sequence_length
        self.methods = {"classify": CLASSIFY}

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the raw fields that it reads."""
        return tuple(self.tokenizer.fields)

    @property
    def labels(self) -> tuple[str, ...]:
        """The label names in the order of their ids."""
        return self._labels

    def signatures(self) -> dict[str, Any]:
        """Name to tf.function, each with its input signature."""
        text = [tf.TensorSpec([None], tf.string, name=field) for field in self.inputs]
        examples = [tf.TensorSpec([None], tf.string, name="inputs")]
        tokens = [tf.TensorSpec([None, None], tf.int32, name=name) for name in (TOKEN_IDS, PADDING_MASK, SEGMENT_IDS)]
        return {
            "serving_default": tf.function(self._from_text, input_signature=text),
            "classify": tf.function(self._from_examples, input_signature=examples),
            "features": tf.function(self._encode, input_signature=text),
            "tokens": tf.function(self._from_tokens, input_signature=tokens),
        }

    def tokens(self, fields: dict[str, Sequence[str]]) -> dict[str, tf.Tensor]:
        """Raw fields, B values each, as the signature `tokens` takes them, each (B, T) int32."""
        features = self._features(tuple(tf.constant(fields[name], tf.string) for name in self.inputs))
        return {name: tf.cast(features[name], tf.int32) for name in (TOKEN_IDS, PADDING_MASK, SEGMENT_IDS)}

    def _from_text(self, *texts: tf.Tensor) -> dict[str, tf.Tensor]:
        return self._named(self._run(self._features(texts)))

    def _from_examples(self, inputs: tf.Tensor) -> dict[str, tf.Tensor]:
        fields = tf.io.parse_example(inputs, {name: tf.io.FixedLenFeature([], tf.string) for name in self.inputs})
        scores = self._from_text(*(fields[name] for name in self.inputs))["scores"]
        return {"classes": tf.broadcast_to(tf.constant(self._labels), tf.shape(scores)), "scores": scores}

    def _encode(self, *texts: tf.Tensor) -> dict[str, tf.Tensor]:
        return {ENCODED: self._run(self._features(texts))[ENCODED]}

    def _from_tokens(
        self, token_ids: tf.Tensor, padding_mask: tf.Tensor, segment_ids: tf.Tensor
    ) -> dict[str, tf.Tensor]:
        length = tf.shape(token_ids)[1]
        too_long = f"sequences may be up to {self._max_length} tokens long"
        with tf.control_dependencies([tf.debugging.assert_less_equal(length, self._max_length, too_long)]):
            real = tf.logical_and(tf.cast(padding_mask, tf.bool), tf.logical_not(_padded_by_server(token_ids)))
        # Whatever was sent for padding, it need not be a token of the vocabulary.
        features = {
            TOKEN_IDS: tf.where(real, token_ids, 0),
            PADDING_MASK: real,
            SEGMENT_IDS: tf.where(real, segment_ids, 0),
        }
        return self._named(self._run(features))

    def _features(self, texts: tuple[tf.Tensor, ...]) -> dict[str, tf.Tensor]:
        ragged = self.tokenizer(dict(zip(self.inputs, texts, strict=True)))
        mask = tf.sequence_mask(ragged[TOKEN_IDS].row_lengths())
        return {**{name: values.to_tensor() for name, values in ragged.items()}, PADDING_MASK: mask}

    def _named(self, outputs: dict[str, Any]) -> dict[str, tf.Tensor]:
        answers = self._answers(outputs)
        label_ids = tf.cast(answers[LABEL_IDS], tf.int64)
        return {
            "label": tf.gather(tf.constant(self._labels), label_ids),
            "label_id": label_ids,
            "scores": tf.cast(answers["scores"], tf.float32),
        }


def _padded_by_server(token_ids: tf.Tensor) -> tf.Tensor:
    """True where a row ends in repetitions of its first token; no text does, it ends in another: (B, T) -> (B, T)."""
    repeats = tf.cast(tf.equal(token_ids, token_ids[:, :1]), tf.int32)
    run = tf.math.cumprod(repeats, axis=1, reverse=True)
    first = tf.equal(tf.range(tf.shape(token_ids)[1]), 0)
    return tf.logical_and(tf.cast(run, tf.bool), tf.logical_not(first))


def _check(task: Task, labels: Sequence[str]) -> None:
    if task.compute_dtype != "float32":
        raise ExportError(
            "the task computes in the wrong type",
            expected="float32",
            received=task.compute_dtype,
            remedy="Build it under float32 for the export: its weights are float32 whatever it was trained in.",
        )
    for label in labels:
        if not label or len(label.splitlines()) > 1:
            raise ExportError(
                "a label cannot be a line of labels.txt", expected="text without line breaks", received=repr(label)
            )
