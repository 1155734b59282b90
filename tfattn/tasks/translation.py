"""Translation and other text-to-text tasks."""

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import keras
import numpy as np
from keras import ops

from tfattn.config.types import Fraction, Given, Section
from tfattn.decoding.loop import Decoded
from tfattn.features import LOGITS, PADDING_MASK, TARGET_IDS, TARGET_PADDING_MASK, TOKEN_IDS, WEIGHTS
from tfattn.models.contracts.encoder_decoder import EncoderDecoder
from tfattn.ops.cross_entropy import smoothed_cross_entropy
from tfattn.tasks import text_metrics
from tfattn.tasks.decoding import Decoding
from tfattn.tasks.task import Task

MEMORY = "memory"
CROSS_ENTROPY = "cross_entropy"  # the only loss term


@runtime_checkable
class TranslationTokenizer(Protocol):
    """The required part of a preprocessor; it also has `start_id`, `end_id` and `suppressed_ids`.

    Its sources end with an end token, so that a source of a single token is empty.
    """

    def detokenize(self, token_ids: Any) -> Any:
        """Convert token ids (B, L) to texts (B,)."""

    def token_names(self, token_ids: Any) -> Any:
        """Convert ids of source tokens to their strings."""

    def target_token_names(self, token_ids: Any) -> Any:
        """Convert ids of target tokens to their strings."""


class Translation(Task):
    """Training of an encoder-decoder by teacher forcing, and generation by beam search.

    The loss is the mean cross-entropy over target tokens. Metrics compare generated texts with the targets.

    Args:
        model: the encoder-decoder.
        preprocessor: converts tokens to texts; known from the data.
        label_smoothing: the fraction of each target token that is spread evenly over the vocabulary.
        decoding: the settings of generation; beam search with 4 beams by default.

    Call arguments:
        features: `token_ids` and `padding_mask` (B, S); in training and evaluation also `target_ids` and
            `target_padding_mask` (B, T).

    Returns:
        with targets `logits` (B, T - 1, V). When not training also the `memory` of the sources, and with targets
        `log_likelihood` (B,), the log probability of each target, and `num_tokens` (B,), its number of tokens with the
        end.

    Source: label smoothing: Szegedy et al. 2016, "Rethinking the inception architecture", section 7.
    """

    loss_names = (CROSS_ENTROPY,)
    metric_names = ("bleu", "chrf", "exact_match", "perplexity", "word_perplexity")
    monitor = "bleu"
    monitor_mode = "max"

    def __init__(
        self,
        *,
        model: Given[EncoderDecoder],
        preprocessor: Given[TranslationTokenizer],
        label_smoothing: Fraction = 0.1,
        decoding: Section("decoding") | None = None,
    ):
        super().__init__(name="translation", autocast=False)
        self.model = model
        self.label_smoothing = label_smoothing
        self.decoding: Decoding = decoding or Decoding()
        self._preprocessor = preprocessor
        self.built = True

    def call(self, features: dict[str, Any], training: bool = False) -> dict[str, Any]:
        outputs = dict(self.model(features, training=training)) if TARGET_IDS in features else {}
        if training:
            return outputs
        if outputs:
            mask = ops.cast(features[TARGET_PADDING_MASK][:, 1:], "float32")
            losses = smoothed_cross_entropy(outputs[LOGITS], features[TARGET_IDS][:, 1:], smoothing=0.0)
            outputs |= {"log_likelihood": -ops.sum(losses * mask, axis=1), "num_tokens": ops.sum(mask, axis=1)}
        return {**outputs, MEMORY: self.model.encode(features)}

    def loss_weights(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Return 1 for each target token, (B, T - 1)."""
        weights = ops.cast(batch[TARGET_PADDING_MASK][:, 1:], "float32") * ops.cast(batch[WEIGHTS], "float32")[:, None]
        return {CROSS_ENTROPY: weights}

    def loss_terms(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        """Compute the cross-entropy of each target token, (B, T - 1)."""
        target_ids = batch[TARGET_IDS][:, 1:]
        return {CROSS_ENTROPY: smoothed_cross_entropy(outputs[LOGITS], target_ids, smoothing=self.label_smoothing)}

    def predictions(self, outputs: dict[str, Any]) -> dict[str, Any]:
        """Generate a text for each source: `token_ids` (B, L), `lengths` (B,), `scores` (B,)."""
        decoded = self.generate(outputs)
        known = {name: outputs[name] for name in ("log_likelihood", "num_tokens") if name in outputs}
        # All batches have the same width, so that they can be joined.
        padding = self.decoding.max_tokens(self.model) - ops.shape(decoded.token_ids)[1]
        token_ids = ops.pad(decoded.token_ids, [[0, 0], [0, padding]])
        return {"token_ids": token_ids, "lengths": decoded.lengths, "scores": decoded.scores, **known}

    def generate(self, outputs: dict[str, Any], *, n_best: bool = False, aligned: bool = False) -> Decoded:
        """Generate a text for each source; see `Decoding.generate`."""
        text = self._preprocessor
        return self.decoding.generate(
            self.model,
            outputs[MEMORY],
            start_id=text.start_id,
            end_id=text.end_id,
            suppressed_ids=text.suppressed_ids,
            n_best=n_best,
            aligned=aligned,
        )

    def texts(self, token_ids: np.ndarray) -> list[str]:
        """Convert generated tokens to texts."""
        return [text.decode("utf-8", "replace") for text in self._preprocessor.detokenize(token_ids).numpy()]

    def aligned(self, sources: Sequence[str]) -> list[tuple[np.ndarray, list[str], list[str]]]:
        """Generate texts and return their alignments: weights (L, S), S source tokens, L target tokens.

        Returns:
            an alignment for each source; an empty list for a model without attention to the source.
        """
        text = self._preprocessor
        ragged = text({text.fields[0]: list(sources)})[TOKEN_IDS]
        lengths = ragged.row_lengths().numpy()
        token_ids = ragged.to_tensor().numpy()
        mask = np.arange(token_ids.shape[1]) < lengths[:, None]
        memory = self({TOKEN_IDS: token_ids, PADDING_MASK: mask})
        if not self.model.aligns:
            return []
        written = self.generate(memory, aligned=True)
        weights, written_lengths = (ops.convert_to_numpy(x) for x in (written.alignment, written.lengths))
        names = text.token_names(token_ids), text.target_token_names(written.token_ids)
        sides = [[[token.decode("utf-8", "replace") for token in row] for row in name.numpy()] for name in names]
        return [
            (weights[row, :long, :wide], sides[0][row][:wide], sides[1][row][:long])
            for row, (wide, long) in enumerate(zip(lengths, written_lengths, strict=True))
        ]

    def statistics(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        """Sum the cross-entropy of the targets in nats, and count their tokens."""
        counts = ops.cast(batch[WEIGHTS] > 0, "float32")
        return {
            "surprise": -ops.sum(outputs["log_likelihood"] * counts),
            "num_tokens": ops.sum(outputs["num_tokens"] * counts),
        }

    def per_example(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        """Return the generated tokens: metrics compare whole texts."""
        return {"token_ids": self.predictions(outputs)["token_ids"]}

    def metrics_from(self, statistics: dict[str, Any], rows: dict[str, np.ndarray]) -> dict[str, float]:
        """Compute BLEU, chrF and exact match of the generated texts, and perplexities of the targets.

        `perplexity` is per token, `word_perplexity` per word between spaces; the end counts as a token and as a word.
        """
        (field,) = self._preprocessor.target_fields
        references = [str(text) for text in rows[field]]
        words = sum(len(text.split()) + 1 for text in references)
        return {
            **text_metrics.translation(self.texts(rows["token_ids"]), references),
            "perplexity": text_metrics.perplexity(float(statistics["surprise"]), float(statistics["num_tokens"])),
            "word_perplexity": text_metrics.perplexity(float(statistics["surprise"]), words),
        }

    def metrics_of(self, predictions: dict[str, np.ndarray], targets: dict[str, np.ndarray]) -> dict[str, float]:
        """Compute the metrics of a split from the predictions for all rows."""
        sums = {name: np.sum(predictions[name], dtype="float64") for name in ("log_likelihood", "num_tokens")}
        statistics = {"surprise": -sums["log_likelihood"], "num_tokens": sums["num_tokens"]}
        return self.metrics_from(statistics, {**predictions, **targets})

    def depth_groups(self) -> list[list[keras.Variable]]:
        return self.model.depth_groups()
