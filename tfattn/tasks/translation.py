"""Translation: one text to another, in another language or of any other kind."""

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
CROSS_ENTROPY = "cross_entropy"  # the one term of the loss


@runtime_checkable
class Writer(Protocol):
    """What a preprocessor has to know for a text to be written: beside these, `start_id`, `end_id`, `suppressed_ids`.

    The sources that it makes have a token at their end, so that one of a single token is empty.
    """

    def detokenize(self, token_ids: Any) -> Any:
        """(B, L) token ids to texts (B,)."""

    def tokens_of(self, token_ids: Any) -> Any:
        """Ids of source tokens to their names."""

    def target_tokens_of(self, token_ids: Any) -> Any:
        """Ids of target tokens to their names."""


class Translation(Task):
    """Teaches an encoder-decoder to write the target of each source, and lets it write.

    It is taught with the right target as far as it has come (teacher forcing); the loss is the mean over tokens. It is
    measured by what it writes by itself.

    Args:
        model: the encoder-decoder.
        preprocessor: makes texts of tokens; known from the data.
        label_smoothing: the part of each target token that is spread evenly over the vocabulary.
        decoding: how it writes; beam search with 4 beams by default.

    Call arguments:
        features: `token_ids` and `padding_mask` (B, S); where it is taught or measured, `target_ids` and
            `target_padding_mask` (B, T).

    Returns:
        `logits` (B, T - 1, V) where there are targets; and if it is not training the `memory` of the sources, and
        where there are targets `log_likelihood` (B,), the logarithm of the probability of each, and `num_tokens` (B,),
        of how many tokens it is the sum, the end included.

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
        preprocessor: Given[Writer],
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
        """1 for each token of each target (B, T - 1)."""
        weights = ops.cast(batch[TARGET_PADDING_MASK][:, 1:], "float32") * ops.cast(batch[WEIGHTS], "float32")[:, None]
        return {CROSS_ENTROPY: weights}

    def loss_terms(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        """Of each token of each target (B, T - 1)."""
        target_ids = batch[TARGET_IDS][:, 1:]
        return {CROSS_ENTROPY: smoothed_cross_entropy(outputs[LOGITS], target_ids, smoothing=self.label_smoothing)}

    def predictions(self, outputs: dict[str, Any]) -> dict[str, Any]:
        """Write to each source: `token_ids` (B, L), `lengths` (B,), `scores` (B,)."""
        decoded = self.written(outputs)
        known = {name: outputs[name] for name in ("log_likelihood", "num_tokens") if name in outputs}
        # Of one width, so that batches can be joined.
        missing = self.decoding.longest(self.model) - ops.shape(decoded.token_ids)[1]
        token_ids = ops.pad(decoded.token_ids, [[0, 0], [0, missing]])
        return {"token_ids": token_ids, "lengths": decoded.lengths, "scores": decoded.scores, **known}

    def written(self, outputs: dict[str, Any], *, n_best: bool = False, aligned: bool = False) -> Decoded:
        """Write to each source; see `Decoding.write`."""
        text = self._preprocessor
        return self.decoding.write(
            self.model,
            outputs[MEMORY],
            start_id=text.start_id,
            end_id=text.end_id,
            suppressed_ids=text.suppressed_ids,
            n_best=n_best,
            aligned=aligned,
        )

    def texts(self, token_ids: np.ndarray) -> list[str]:
        """Return the texts of what was written."""
        return [text.decode("utf-8", "replace") for text in self._preprocessor.detokenize(token_ids).numpy()]

    def aligned(self, sources: Sequence[str]) -> list[tuple[np.ndarray, list[str], list[str]]]:
        """Compute what each token that is written to some sources looks at: weights (L, S), S source tokens, L tokens.

        Returns:
            one for each source; none at all where the model attends to no source.
        """
        text = self._preprocessor
        ragged = text({text.fields[0]: list(sources)})[TOKEN_IDS]
        lengths = ragged.row_lengths().numpy()
        token_ids = ragged.to_tensor().numpy()
        mask = np.arange(token_ids.shape[1]) < lengths[:, None]
        memory = self({TOKEN_IDS: token_ids, PADDING_MASK: mask})
        if not self.model.aligns:
            return []
        written = self.written(memory, aligned=True)
        weights, written_lengths = (ops.convert_to_numpy(x) for x in (written.alignment, written.lengths))
        names = text.tokens_of(token_ids), text.target_tokens_of(written.token_ids)
        sides = [[[token.decode("utf-8", "replace") for token in row] for row in name.numpy()] for name in names]
        return [
            (weights[row, :long, :wide], sides[0][row][:wide], sides[1][row][:long])
            for row, (wide, long) in enumerate(zip(lengths, written_lengths, strict=True))
        ]

    def statistics(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        """How surprising all targets together are, in nats, and their tokens."""
        counts = ops.cast(batch[WEIGHTS] > 0, "float32")
        return {
            "surprise": -ops.sum(outputs["log_likelihood"] * counts),
            "num_tokens": ops.sum(outputs["num_tokens"] * counts),
        }

    def of_each_row(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        """Return what is written: only whole texts can be compared."""
        return {"token_ids": self.predictions(outputs)["token_ids"]}

    def metrics_from(self, statistics: dict[str, Any], rows: dict[str, np.ndarray]) -> dict[str, float]:
        """BLEU, chrF and the fraction that is right to the letter, of what was written; perplexities of the targets.

        `perplexity` is that of a token, `word_perplexity` that of a word between spaces; ends count as one of either.
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
        """Compute the metrics of the predictions for all rows of a split."""
        sums = {name: np.sum(predictions[name], dtype="float64") for name in ("log_likelihood", "num_tokens")}
        statistics = {"surprise": -sums["log_likelihood"], "num_tokens": sums["num_tokens"]}
        return self.metrics_from(statistics, {**predictions, **targets})

    def depth_groups(self) -> list[list[keras.Variable]]:
        return self.model.depth_groups()
