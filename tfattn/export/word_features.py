"""The export of ELMo: contextual word vectors."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
from keras import ops

from tfattn.export.servable_model import Columns, Comparison, ServableModel
from tfattn.export.warmup import sample_each_length
from tfattn.features import HIDDEN_STATES, PADDING_MASK
from tfattn.preprocessing.padding import padded
from tfattn.rows import widened
from tfattn.trained.ensemble import TrainedEnsemble

MAX_QUESTIONS = 20
VECTORS = "vectors"


class TextToVectors(NamedTuple):
    """A trained model that maps texts to word vectors.

    Attributes:
        field: the field of the text.
        vectors: returns vectors (B, W, L, D) of texts (B,).
    """

    field: str
    vectors: Callable[[tf.Tensor], tf.Tensor]

    def predict(self, rows: Sequence[Mapping[str, str]]) -> dict[str, np.ndarray]:
        """Return the word vectors of N texts: (N, W, L, D), padded with 0."""
        return {VECTORS: self.vectors(tf.constant([row[self.field] for row in rows])).numpy()}


class WordFeatures(ServableModel):
    """An export that returns word vectors, per layer.

        serving_default   text (B,) -> words (B, W) string; vectors (B, W, L, D) float32: first the character-based
                          representation, repeated to D, then each LSTM layer, forward and backward concatenated; length
                          (B,) int32, the number of words, the rest is padded with "" and 0; truncated (B,) bool

    LSTM states start from zeros for each text.

    Args:
        ensemble: a single trained model.
    """

    headline_metrics = ("perplexity", "forward_perplexity", "backward_perplexity")

    def __init__(self, ensemble: TrainedEnsemble):
        super().__init__(ensemble, name="word_features")
        model, preprocessor = ensemble.task.model, ensemble.preprocessor
        # Without the output word vectors, which double the size and are not needed.
        self.weights = [variable.value for variable in model.weights]
        self.weight_names = tuple(variable.path for variable in model.weights)
        (field,) = preprocessor.fields
        layers = tf.function(
            lambda features: ops.stack(model(features)[HIDDEN_STATES], axis=2), autograph=False, reduce_retracing=True
        )

        def vectors(texts: tf.Tensor) -> tf.Tensor:
            features = padded(preprocessor({field: texts}))
            # Without the boundary tokens at start and end.
            is_word = features[PADDING_MASK][:, 2:]
            return layers(features)[:, 1:-1] * tf.cast(is_word, tf.float32)[:, :, None, None]

        self._vectors = lambda texts: vectors(texts)

    @property
    def ensemble(self) -> TextToVectors:
        """The model that computes the expected outputs."""
        (field,) = self.preprocessors[0].fields
        return TextToVectors(field, self._vectors)

    def questions(self, rows: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
        """Return some rows, evenly spaced."""
        positions = np.unique(np.linspace(0, len(rows) - 1, min(MAX_QUESTIONS, len(rows))).astype(int))
        return [dict(rows[index]) for index in positions]

    def signatures(self) -> dict[str, Any]:
        (name,) = self.inputs
        text = tf.TensorSpec([None], tf.string, name=name)
        return {"serving_default": tf.function(self._read, input_signature=[text], autograph=False)}

    def request(self, rows: Sequence[Mapping[str, str]]) -> dict[str, list[str]]:
        (name,) = self.inputs
        return {name: [row[name] for row in rows]}

    def warm_up(self, rows: Sequence[Mapping[str, str]]) -> Iterator[tuple[str, Columns]]:
        """Yield texts of all lengths, alone and together."""
        (name,) = self.inputs
        chosen = sample_each_length(self._lengths, self.request(rows))
        for text in chosen[name]:
            yield "serving_default", {name: [text]}
        yield "serving_default", chosen

    def compare(
        self, expected: Mapping[str, np.ndarray], received: Mapping[str, Sequence[Any]], *, tolerance: float
    ) -> Comparison:
        """Compare vectors within the tolerance."""
        wanted = expected[VECTORS]
        found = np.asarray(received[VECTORS], np.float64)
        longest = max(wanted.shape[1], found.shape[1])
        difference = np.abs(widened(found, [longest]) - widened(wanted, [longest])).max(axis=(1, 2, 3), initial=0)
        is_right = difference <= tolerance  # NaN counts as wrong
        largest = float(difference.max())
        return Comparison(
            wrong=~is_right,
            report={"max_vector_difference": largest},
            words=f"the vectors of {is_right.sum()} of {len(is_right)} texts agree, "
            f"they differ by at most {largest:.2g} (allowed: {tolerance:g})",
            expected=lambda row: f"its vectors within {tolerance:g}",
            received=lambda row: f"vectors off by {difference[row]:.3g}",
        )

    def _read(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        (preprocessor,) = self.preprocessors
        words = preprocessor.words(text)[:, : preprocessor.max_length - 2]
        return {
            "words": words.to_tensor(),
            VECTORS: self._vectors(text),
            "length": tf.cast(words.row_lengths(), tf.int32),
            "truncated": preprocessor.truncated({self.inputs[0]: text}),
        }

    def _lengths(self, fields: Columns) -> np.ndarray:
        (name,) = self.inputs
        return self.preprocessors[0].words(tf.constant(fields[name], tf.string)).row_lengths().numpy()
