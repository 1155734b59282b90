"""Language modelling: a decoder learns a language by telling what comes next."""

import math
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import keras
import numpy as np
from keras import ops

from tfattn.config.types import Fraction, Given, Section
from tfattn.features import LOGITS, LOSS_MASK, PADDING_MASK, SEQUENCE_IDS, TOKEN_IDS, WEIGHTS
from tfattn.models.contracts.decoder import Decoder
from tfattn.ops.cross_entropy import smoothed_cross_entropy
from tfattn.ops.indexing import pick
from tfattn.tasks.generation import Generation
from tfattn.tasks.task import Task
from tfattn.tasks.text_metrics import perplexity

CROSS_ENTROPY = "cross_entropy"  # the one term of the loss
SPACES = frozenset((b" ", b"\t", b"\n", b"\r", b"\f", b"\v"))


@runtime_checkable
class Speaker(Protocol):
    """What a preprocessor has to tell: beside this, `token_bytes`, what each of its V tokens stands for."""

    def detokenize(self, token_ids: Any) -> Any:
        """(B, L) token ids to texts (B,)."""


class LanguageModeling(Task):
    """Teaches a decoder to tell each token of a text from those before it.

    The loss is the mean over tokens. Records hold texts that are laid end to end: the first token of each is read only.

    Args:
        model: the decoder.
        preprocessor: tells what its tokens stand for; known from the data.
        label_smoothing: the part of each token that is spread evenly over the vocabulary.
        generation: how it writes where a request does not say.

    Call arguments:
        features: `token_ids` (B, T) and `padding_mask` (B, T); and where texts that share a row are read apart,
            `sequence_ids` (B, T).

    Returns:
        `logits` (B, T - 1, V), of all tokens but the first.

    Source: Radford et al. 2018, "Improving language understanding by generative pre-training", eq. 1; bits per byte:
    Gao et al. 2020, "The Pile", section 3.1.
    """

    loss_names = (CROSS_ENTROPY,)
    metric_names = ("perplexity", "word_perplexity", "bits_per_byte")
    monitor = "bits_per_byte"
    predicts_rows = False

    def __init__(
        self,
        *,
        model: Given[Decoder],
        preprocessor: Given[Speaker],
        label_smoothing: Fraction = 0.0,
        generation: Section("generation") | None = None,
    ):
        super().__init__(name="language_modeling", autocast=False)
        self.model = model
        self.label_smoothing = label_smoothing
        self.generation: Generation = generation or Generation()
        self._preprocessor = preprocessor
        self.built = True

    def call(self, features: dict[str, Any], training: bool = False) -> dict[str, Any]:
        read = {name: features[name][:, :-1] for name in (TOKEN_IDS, PADDING_MASK, SEQUENCE_IDS) if name in features}
        return {LOGITS: self.model(read, training=training)[LOGITS]}

    def scores_of(self, features: dict[str, Any]) -> Any:
        """Compute the probabilities (B, V) of the token that comes next."""
        logits = self.model(features)[LOGITS]
        last = ops.sum(ops.cast(features[PADDING_MASK], "int32"), axis=1, keepdims=True) - 1
        return ops.softmax(ops.cast(pick(logits, last)[:, 0], "float32"))

    def loss_weights(self, batch: dict[str, Any]) -> dict[str, Any]:
        """1 for each token that is to be predicted (B, T - 1): of the text before it, and not masked."""
        weights = ops.cast(batch[PADDING_MASK][:, 1:], "float32") * ops.cast(batch[WEIGHTS], "float32")[:, None]
        if LOSS_MASK in batch:
            weights = weights * ops.cast(batch[LOSS_MASK][:, 1:], "float32")
        if SEQUENCE_IDS in batch:
            sequences = batch[SEQUENCE_IDS]
            weights = weights * ops.cast(sequences[:, 1:] == sequences[:, :-1], "float32")
        return {CROSS_ENTROPY: weights}

    def loss_terms(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        """Of each token but the first (B, T - 1)."""
        targets = batch[TOKEN_IDS][:, 1:]
        return {CROSS_ENTROPY: smoothed_cross_entropy(outputs[LOGITS], targets, smoothing=self.label_smoothing)}

    def predictions(self, outputs: dict[str, Any]) -> dict[str, Any]:
        """Return what is likeliest in the place of each token but the first: `token_ids` (B, T - 1)."""
        return {"token_ids": ops.cast(ops.argmax(outputs[LOGITS], axis=-1), "int32")}

    def statistics(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        """How surprising all tokens together are, in nats, and how many tokens, words and bytes they are."""
        counts = ops.cast(self.loss_weights(batch)[CROSS_ENTROPY] > 0, "float32")
        token_ids = ops.cast(batch[TOKEN_IDS], "int32")
        surprise = smoothed_cross_entropy(outputs[LOGITS], token_ids[:, 1:], smoothing=0.0)
        of_tokens = _measured(self._preprocessor.token_bytes)
        sizes, inside, begins, ends = (ops.take(ops.array(part), token_ids) for part in of_tokens)
        words, sizes = inside[:, 1:] + begins[:, 1:] * ends[:, :-1], sizes[:, 1:]
        sums = {"surprise": surprise, "num_tokens": 1.0, "num_words": words, "num_bytes": sizes}
        return {name: ops.sum(each * counts) for name, each in sums.items()}

    def metrics_from(self, statistics: dict[str, Any], rows: dict[str, np.ndarray]) -> dict[str, float]:
        """Compute the perplexities of a token and of a word between spaces, and the bits of a byte of text."""
        surprise, tokens, words, size = (
            float(statistics[name]) for name in ("surprise", "num_tokens", "num_words", "num_bytes")
        )
        return {
            "perplexity": perplexity(surprise, tokens),
            "word_perplexity": perplexity(surprise, words),
            "bits_per_byte": surprise / math.log(2) / max(size, 1.0),
        }

    def depth_groups(self) -> list[list[keras.Variable]]:
        return self.model.depth_groups()


def _measured(token_bytes: Sequence[bytes]) -> np.ndarray:
    """Measure tokens: (4, V) float32, their bytes, and three numbers by which the words of a text are counted.

    A word begins where something stands after a space: these are the beginnings inside of each token, whether it begins
    with something else than a space, and whether the next token stands after a space.
    """
    found = np.zeros((4, len(token_bytes)), np.float32)
    for place, token in enumerate(token_bytes):
        words = token.split()
        begins = bool(words) and token[:1] not in SPACES
        found[:, place] = len(token), len(words) - begins, begins, not token or token[-1:] in SPACES
    return found
