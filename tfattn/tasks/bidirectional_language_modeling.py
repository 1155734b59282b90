"""Language modelling in both directions: each word is told from those before it, and from those behind it."""

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
START, END = 0, 1  # the ids of the marks of a text


@runtime_checkable
class Speller(Protocol):
    """What a preprocessor has to tell: beside this `spellings`, (V, 50) int, of each word, and `sizes`."""

    def sentences(self, texts: Iterable[str]) -> Iterator[np.ndarray]:
        """Yield the ids of the words of each text, between its marks."""


class BidirectionalLanguageModeling(Task):
    """Teaches an ELMo to tell each word of a text from those before it, and from those behind it.

    Records hold texts that are laid end to end, each between two marks. The loss is the sum of two means: forward over
    all words and the marks of ends, backward over all words and the marks of begins; both share the vectors of the
    words that they tell. A word that comes more than once in a batch is read by its characters once.

    Args:
        model: an `elmo`.
        preprocessor: tells how words are spelled; known from the data.
        samples: while training, how many words are drawn at random to stand for all others; null for all words, where
            there are few. What is measured is always by all.

    Call arguments:
        features: `token_ids` and `padding_mask` (B, T).

    Returns:
        `forward` and `backward` (B, T - 1) float32, in nats: of each word but the first, and of each but the last.

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
        preprocessor: Given[Speller],
        samples: PositiveInt | None = 2048,
    ):
        super().__init__(name="bidirectional_language_modeling", autocast=False)
        self.model = model
        model.pooler.trainable = False  # nobody reads it
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
        different, places = ops.unique(ops.reshape(token_ids, (-1,)), return_inverse=True, sorted=False)
        characters = ops.take(ops.convert_to_tensor(self._preprocessor.spellings), different, axis=0)
        words = ops.take(self.model.word_vectors(characters), ops.reshape(places, ops.shape(token_ids)), axis=0)
        top = self.model.layers_of(words, features.get(PADDING_MASK), training=training)[-1]
        forward, backward = ops.split(top, 2, axis=-1)
        surprise = self.softmax.sampled if training and self.softmax.samples else self.softmax
        return {
            FORWARD: surprise(forward[:, :-1], token_ids[:, 1:]),
            BACKWARD: surprise(backward[:, 1:], token_ids[:, :-1]),
        }

    def loss_weights(self, batch: dict[str, Any]) -> dict[str, Any]:
        """1 for each word that is to be told (B, T - 1); not for the mark that always follows the other one."""
        token_ids, real = batch[TOKEN_IDS], ops.cast(batch[PADDING_MASK], "float32")
        both = real[:, 1:] * real[:, :-1] * ops.cast(batch[WEIGHTS], "float32")[:, None]
        return {
            FORWARD: both * ops.cast(token_ids[:, 1:] != START, "float32"),
            BACKWARD: both * ops.cast(token_ids[:, :-1] != END, "float32"),
        }

    def loss_terms(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        """Of each word (B, T - 1)."""
        return {name: outputs[name] for name in DIRECTIONS}

    def predictions(self, outputs: dict[str, Any]) -> dict[str, Any]:
        """Return how surprising each word is: as `call`."""
        return {name: outputs[name] for name in DIRECTIONS}

    def statistics(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        """How surprising all words together are, in nats, and how many they are, in each direction."""
        weights = self.loss_weights(batch)
        sums = {name: ops.sum(outputs[name] * weights[name]) for name in DIRECTIONS}
        return sums | {f"{name}_words": ops.sum(weights[name]) for name in DIRECTIONS}

    def metrics_from(self, statistics: dict[str, Any], rows: dict[str, np.ndarray]) -> dict[str, float]:
        """Compute the perplexity of each direction, and that of both together."""
        nats, words = ([float(statistics[f"{name}{suffix}"]) for name in DIRECTIONS] for suffix in ("", "_words"))
        found = {f"{name}_perplexity": perplexity(*pair) for name, *pair in zip(DIRECTIONS, nats, words, strict=True)}
        return {"perplexity": perplexity(sum(nats), sum(words)), **found}

    def depth_groups(self) -> list[list[keras.Variable]]:
        return [*self.model.depth_groups(), self.softmax.trainable_variables]
