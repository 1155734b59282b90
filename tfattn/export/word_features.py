"""What an exported ELMo can be asked: the vectors of the words of texts."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
from keras import ops

from tfattn.export.lengths import one_of_each_length
from tfattn.export.served import Columns, Comparison, Served
from tfattn.features import HIDDEN_STATES, PADDING_MASK
from tfattn.preprocessing.padding import padded
from tfattn.rows import widened
from tfattn.trained.ensemble import TrainedEnsemble

MOST_QUESTIONS = 20
VECTORS = "vectors"


class Reading(NamedTuple):
    """A trained model as people ask it.

    Attributes:
        field: of the text.
        vectors: of texts (B,), (B, W, L, D).
    """

    field: str
    vectors: Callable[[tf.Tensor], tf.Tensor]

    def predict(self, rows: Sequence[Mapping[str, str]]) -> dict[str, np.ndarray]:
        """Return the vectors of the words of N texts: (N, W, L, D), 0 behind a text's last word."""
        return {VECTORS: self.vectors(tf.constant([row[self.field] for row in rows])).numpy()}


class WordFeatures(Served):
    """Tells the vectors of the words of texts, of each layer.

        serving_default   text (B,) -> words (B, W) string; vectors (B, W, L, D) float32: of the characters alone, which
                          is there twice side by side, then of each LSTM, forward and backward; length (B,) int32, how
                          many words a text has: the others of its W are "" and 0; truncated (B,) bool

    Every text is read from states of zeros.

    Args:
        ensemble: the trained model, one alone.
    """

    shown_metrics = ("perplexity", "forward_perplexity", "backward_perplexity")

    def __init__(self, ensemble: TrainedEnsemble):
        super().__init__(ensemble, name="word_features")
        model, preprocessor = ensemble.task.model, ensemble.preprocessor
        # The vectors of words to tell are as many again, and nobody asks for them.
        self.weights = [variable.value for variable in model.weights]
        self.weight_names = tuple(variable.path for variable in model.weights)
        (field,) = preprocessor.fields
        layers = tf.function(
            lambda features: ops.stack(model(features)[HIDDEN_STATES], axis=2), autograph=False, reduce_retracing=True
        )

        def vectors(texts: tf.Tensor) -> tf.Tensor:
            features = padded(preprocessor({field: texts}))
            # Without the marks: what stands behind the mark of the begin, and before that of the end.
            is_word = features[PADDING_MASK][:, 2:]
            return layers(features)[:, 1:-1] * tf.cast(is_word, tf.float32)[:, :, None, None]

        self._vectors = lambda texts: vectors(texts)

    @property
    def ensemble(self) -> Reading:
        """What questions are answered by."""
        (field,) = self.preprocessors[0].fields
        return Reading(field, self._vectors)

    def questions(self, rows: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
        """Choose some rows, taken evenly."""
        places = np.unique(np.linspace(0, len(rows) - 1, min(MOST_QUESTIONS, len(rows))).astype(int))
        return [dict(rows[place]) for place in places]

    def signatures(self) -> dict[str, Any]:
        (name,) = self.inputs
        text = tf.TensorSpec([None], tf.string, name=name)
        return {"serving_default": tf.function(self._read, input_signature=[text], autograph=False)}

    def request(self, rows: Sequence[Mapping[str, str]]) -> dict[str, list[str]]:
        (name,) = self.inputs
        return {name: [row[name] for row in rows]}

    def warm_up(self, rows: Sequence[Mapping[str, str]]) -> Iterator[tuple[str, Columns]]:
        """Yield texts of every length there may be, each alone and all together."""
        (name,) = self.inputs
        chosen = one_of_each_length(self._lengths, self.request(rows))
        for text in chosen[name]:
            yield "serving_default", {name: [text]}
        yield "serving_default", chosen

    def compared(
        self, expected: Mapping[str, np.ndarray], received: Mapping[str, Sequence[Any]], *, tolerance: float
    ) -> Comparison:
        """Vectors are to be about the same."""
        wanted = expected[VECTORS]
        found = np.asarray(received[VECTORS], np.float64)
        longest = max(wanted.shape[1], found.shape[1])
        difference = np.abs(widened(found, [longest]) - widened(wanted, [longest])).max(axis=(1, 2, 3), initial=0)
        is_right = difference <= tolerance  # so written, NaN is wrong too
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
