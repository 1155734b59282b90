"""Bidirectional language modelling: each word is predicted from its left context and from its right context."""

from collections.abc import Iterable, Iterator
from typing import Any, Protocol, runtime_checkable

import keras
import numpy as np
from keras import ops
from pydantic import PositiveInt

from tfattn.config.types import Given
from tfattn.features import PADDING_MASK, TOKEN_IDS, WEIGHTS
from tfattn.layers.word_softmax import WordSoftmax
from tfattn.models.contracts.encoder import DirectionalEncoder
from tfattn.tasks.task import Task
from tfattn.tasks.text_metrics import perplexity

FORWARD, BACKWARD = DIRECTIONS = ("forward", "backward")
START, END = 0, 1  # the ids of the boundary marks of a text


@runtime_checkable
class SpellingInfo(Protocol):
    """The required part of a preprocessor; it also has `sizes` and `spellings`, the (V, 50) int characters of words."""

    def sentences(self, texts: Iterable[str]) -> Iterator[np.ndarray]:
        """Yield the word ids of each text, with its boundary marks."""


class BidirectionalLanguageModeling(Task):
    """Pre-training of an ELMo by a forward and a backward language model.

    Records hold concatenated texts, each between two boundary marks. The loss is the sum of two means: forward over all
    words and end marks, backward over all words and start marks; both directions share the output embeddings. Each
    distinct word of a batch is encoded by its characters once.

    Args:
        model: an `elmo`.
        preprocessor: the source of the spellings; known from the data.
        samples: the number of negative words of the sampled softmax in training; null for the full softmax, for small
            vocabularies. Metrics always use the full softmax.

    Call arguments:
        features: `token_ids` and `padding_mask` (B, T).

    Returns:
        `forward` and `backward` (B, T - 1) float32: the cross-entropy in nats of all words but the first, and of all
        words but the last.

    Source: Peters et al. 2018, "Deep contextualized word representations", section 3.1.
    """

    loss_names = DIRECTIONS
    metric_names = ("perplexity", "forward_perplexity", "backward_perplexity")
    monitor = "perplexity"
    predicts_rows = False

    def __init__(
        self,
        *,
        model: Given[DirectionalEncoder],
        preprocessor: Given[SpellingInfo],
        samples: PositiveInt | None = 2048,
    ):
        super().__init__(name="bidirectional_language_modeling", autocast=False)
        self.model = model
        model.pooler.trainable = False  # unused
        self._preprocessor = preprocessor
        num_words, width = preprocessor.sizes["vocabulary_size"], model.hidden_dim // 2
        self.softmax = WordSoftmax(num_words=num_words, width=width, samples=samples, name="softmax")
        self.softmax.build()
        self.built = True

    @property
    def optional_layers(self) -> list[keras.layers.Layer]:
        return [self.softmax, self.model.pooler]

    def call(self, features: dict[str, Any], training: bool = False) -> dict[str, Any]:
        token_ids = ops.cast(features[TOKEN_IDS], "int32")
        distinct, inverse = ops.unique(ops.reshape(token_ids, (-1,)), return_inverse=True, sorted=False)
        characters = ops.take(ops.convert_to_tensor(self._preprocessor.spellings), distinct, axis=0)
        words = ops.take(self.model.word_vectors(characters), ops.reshape(inverse, ops.shape(token_ids)), axis=0)
        top = self.model.layers_of(words, features.get(PADDING_MASK), training=training)[-1]
        forward, backward = ops.split(top, 2, axis=-1)
        cross_entropy = self.softmax.sampled if training and self.softmax.samples else self.softmax
        return {
            FORWARD: cross_entropy(forward[:, :-1], token_ids[:, 1:]),
            BACKWARD: cross_entropy(backward[:, 1:], token_ids[:, :-1]),
        }

    def loss_weights(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Return 1 for each target word (B, T - 1), and 0 for marks that always follow the mark of another text."""
        token_ids, real = batch[TOKEN_IDS], ops.cast(batch[PADDING_MASK], "float32")
        both = real[:, 1:] * real[:, :-1] * ops.cast(batch[WEIGHTS], "float32")[:, None]
        return {
            FORWARD: both * ops.cast(token_ids[:, 1:] != START, "float32"),
            BACKWARD: both * ops.cast(token_ids[:, :-1] != END, "float32"),
        }

    def loss_terms(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        """Return the cross-entropy of each word, (B, T - 1)."""
        return {name: outputs[name] for name in DIRECTIONS}

    def predictions(self, outputs: dict[str, Any]) -> dict[str, Any]:
        """Return the cross-entropy of each word, as `call`."""
        return {name: outputs[name] for name in DIRECTIONS}

    def statistics(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        """Sum the cross-entropies in nats, and count the words, in each direction."""
        weights = self.loss_weights(batch)
        sums = {name: ops.sum(outputs[name] * weights[name]) for name in DIRECTIONS}
        return sums | {f"{name}_words": ops.sum(weights[name]) for name in DIRECTIONS}

    def metrics_from(self, statistics: dict[str, Any], rows: dict[str, np.ndarray]) -> dict[str, float]:
        """Compute the perplexity of each direction and of both together."""
        nats, words = ([float(statistics[f"{name}{suffix}"]) for name in DIRECTIONS] for suffix in ("", "_words"))
        found = {f"{name}_perplexity": perplexity(*pair) for name, *pair in zip(DIRECTIONS, nats, words, strict=True)}
        return {"perplexity": perplexity(sum(nats), sum(words)), **found}

    def depth_groups(self) -> list[list[keras.Variable]]:
        return [*self.model.depth_groups(), self.softmax.trainable_variables]
