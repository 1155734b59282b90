"""Language modelling: a decoder learns to predict the next token."""

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

CROSS_ENTROPY = "cross_entropy"  # the only loss term
SPACES = frozenset((b" ", b"\t", b"\n", b"\r", b"\f", b"\v"))


@runtime_checkable
class TokenizerInfo(Protocol):
    """The required part of a preprocessor; it also has `token_bytes`, the bytes of each of its V tokens."""

    def detokenize(self, token_ids: Any) -> Any:
        """Convert token ids (B, L) to texts (B,)."""


class LanguageModeling(Task):
    """Next-token prediction with a decoder.

    The loss is the mean over tokens. Records hold concatenated texts; the first token of a text is not a target.

    Args:
        model: the decoder.
        preprocessor: the source of the tokens' bytes; known from the data.
        label_smoothing: the fraction of each target that is spread evenly over the vocabulary.
        generation: the default settings of generation.

    Call arguments:
        features: `token_ids` (B, T) and `padding_mask` (B, T); for packed texts that do not see each other also
            `sequence_ids` (B, T).

    Returns:
        `logits` (B, T - 1, V), of all tokens except the first.

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
        preprocessor: Given[TokenizerInfo],
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
        inputs = {name: features[name][:, :-1] for name in (TOKEN_IDS, PADDING_MASK, SEQUENCE_IDS) if name in features}
        return {LOGITS: self.model(inputs, training=training)[LOGITS]}

    def scores_to_explain(self, features: dict[str, Any]) -> Any:
        """Compute the probabilities (B, V) of the next token."""
        logits = self.model(features)[LOGITS]
        last = ops.sum(ops.cast(features[PADDING_MASK], "int32"), axis=1, keepdims=True) - 1
        return ops.softmax(ops.cast(pick(logits, last)[:, 0], "float32"))

    def loss_weights(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Return 1 for each target token (B, T - 1): not masked, and of the same text as the token before it."""
        weights = ops.cast(batch[PADDING_MASK][:, 1:], "float32") * ops.cast(batch[WEIGHTS], "float32")[:, None]
        if LOSS_MASK in batch:
            weights = weights * ops.cast(batch[LOSS_MASK][:, 1:], "float32")
        if SEQUENCE_IDS in batch:
            sequences = batch[SEQUENCE_IDS]
            weights = weights * ops.cast(sequences[:, 1:] == sequences[:, :-1], "float32")
        return {CROSS_ENTROPY: weights}

    def loss_terms(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        """Compute the cross-entropy of each token except the first, (B, T - 1)."""
        targets = batch[TOKEN_IDS][:, 1:]
        return {CROSS_ENTROPY: smoothed_cross_entropy(outputs[LOGITS], targets, smoothing=self.label_smoothing)}

    def predictions(self, outputs: dict[str, Any]) -> dict[str, Any]:
        """Return the most likely token at each position except the first: `token_ids` (B, T - 1)."""
        return {"token_ids": ops.cast(ops.argmax(outputs[LOGITS], axis=-1), "int32")}

    def statistics(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        """Sum the cross-entropy in nats, and count the tokens, words and bytes."""
        counts = ops.cast(self.loss_weights(batch)[CROSS_ENTROPY] > 0, "float32")
        token_ids = ops.cast(batch[TOKEN_IDS], "int32")
        cross_entropy = smoothed_cross_entropy(outputs[LOGITS], token_ids[:, 1:], smoothing=0.0)
        table = _word_counts(self._preprocessor.token_bytes)
        sizes, inside, starts, ends = (ops.take(ops.array(column), token_ids) for column in table)
        words, sizes = inside[:, 1:] + starts[:, 1:] * ends[:, :-1], sizes[:, 1:]
        sums = {"surprise": cross_entropy, "num_tokens": 1.0, "num_words": words, "num_bytes": sizes}
        return {name: ops.sum(each * counts) for name, each in sums.items()}

    def metrics_from(self, statistics: dict[str, Any], rows: dict[str, np.ndarray]) -> dict[str, float]:
        """Compute the perplexity per token and per word between spaces, and the bits per byte."""
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


def _word_counts(token_bytes: Sequence[bytes]) -> np.ndarray:
    """Compute a table (4, V) float32 of the bytes of each token and three numbers to count words with.

    A word starts at a non-space after a space. The three numbers are the word starts inside of a token, whether its
    first byte is not a space, and whether a word can start after it.
    """
    table = np.zeros((4, len(token_bytes)), np.float32)
    for token_id, token in enumerate(token_bytes):
        words = token.split()
        starts = bool(words) and token[:1] not in SPACES
        table[:, token_id] = len(token), len(words) - starts, starts, not token or token[-1:] in SPACES
    return table
