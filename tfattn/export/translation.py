"""The export of translation."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tfattn.export.attention import add_segments
from tfattn.export.servable_model import Columns, Comparison, ServableModel
from tfattn.export.warmup import sample_each_length
from tfattn.features import PADDING_MASK, TARGET, TARGET_IDS, TARGET_PADDING_MASK, TEXT, TOKEN_IDS
from tfattn.preprocessing.padding import padded
from tfattn.preprocessing.token_labels import source_token_labels, target_token_labels
from tfattn.trained.ensemble import TrainedEnsemble

ALIGNMENT = "alignment"


class Translator(ServableModel):
    """An export that translates texts.

    Batches are padded to their longest source; the output of a row does not depend on the other rows.

        serving_default   text (B,)
                          -> text (B,) string; score (B,) float32, its log probability divided by the length penalty;
                          length (B,) int32, its number of tokens; truncated (B,) bool, whether the source was truncated
        n_best            text (B,)
                          -> text, score, length, each (B, n), best first
        attention, attention_vectors
                          text (B,), target (B,), a given translation -> see `attention.signatures`
        alignment         only for models with cross-attention: text (B,)
                          -> text (B,); source_tokens (B, S) and tokens (B, L) string, padded with ""; alignment (B, L,
                          S) float32, the attention weight of each source token for each generated token

    Args:
        ensemble: a single trained model.

    Raises:
        ExportError: the task does not compute in float32.
    """

    headline_metrics = ("bleu", "baseline_bleu", "chrf", "exact_match")

    def __init__(self, ensemble: TrainedEnsemble):
        super().__init__(ensemble, name="translator")
        (task,), (self._text,) = ensemble.tasks, ensemble.preprocessors
        self._aligns = task.model.aligns
        self._labels = source_token_labels(self._text), target_token_labels(self._text)
        self._refuses = task.decoding.too_long == "refuse"
        self._write = lambda outputs, **options: task.generate(outputs, **options)

    @property
    def raw_fields(self) -> dict[str, str]:
        return {TEXT: self._text.fields[0]}

    def signatures(self) -> dict[str, Any]:
        text = [tf.TensorSpec([None], tf.string, name=TEXT)]
        functions = {"serving_default": self._translate, "n_best": self._n_best}
        functions |= {ALIGNMENT: self._alignment} if self._aligns else {}
        signatures = {
            name: tf.function(function, input_signature=text, autograph=False) for name, function in functions.items()
        }
        return {**signatures, **self.attention_signatures()}

    def attention_signatures(self) -> dict[str, Any]:
        if not self._aligns:
            return {}
        pair = [tf.TensorSpec([None], tf.string, name=name) for name in (TEXT, TARGET)]
        return self._attention(inputs=pair, read=self._read, labels=self._label_tokens)

    def request(self, rows: Sequence[Mapping[str, str]]) -> dict[str, list[str]]:
        return {TEXT: [row[self.raw_fields[TEXT]] for row in rows]}

    def warm_up(self, rows: Sequence[Mapping[str, str]]) -> Iterator[tuple[str, Columns]]:
        """Yield sources of all lengths, alone and together, then one request per other signature."""
        (texts,) = sample_each_length(self._lengths, self.request(rows)).values()
        for text in texts:
            yield "serving_default", {TEXT: [text]}
        for signature in ("serving_default", "n_best", *([ALIGNMENT] if self._aligns else [])):
            yield signature, {TEXT: texts}

    def compare(
        self, expected: Mapping[str, np.ndarray], received: Mapping[str, Sequence[Any]], *, tolerance: float
    ) -> Comparison:
        """Compare scores within the tolerance, and report the agreement of texts."""
        texts = [text.decode("utf-8", "replace") for text in self._text.detokenize(expected["token_ids"]).numpy()]
        agree = np.array([ours == theirs for ours, theirs in zip(texts, received["text"], strict=True)])
        differences = np.abs(np.asarray(received["score"], np.float64) - expected["scores"])
        largest = float(differences.max())
        near = differences <= tolerance
        # Texts may differ: rounding decides between texts of equal score.
        return Comparison(
            wrong=~near,
            report={"text_agreement": float(agree.mean()), "max_score_difference": largest},
            words=f"texts agree on {agree.sum()} of {len(agree)} rows, "
            f"scores differ by at most {largest:.2g} (allowed: {tolerance:g})",
            expected=lambda row: f"{texts[row]!r} and a score within {tolerance:g}",
            received=lambda row: f"{received['text'][row]!r} and a score off by {differences[row]:.3g}",
        )

    def _translate(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        features, truncated = self._features(text)
        written = self._write(self._run(features))
        return {**self._outputs(written), "truncated": truncated}

    def _n_best(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        features, _ = self._features(text)
        return self._outputs(self._write(self._run(features), n_best=True))

    def _alignment(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        features, _ = self._features(text)
        written = self._write(self._run(features), aligned=True)
        longest = tf.reduce_max(written.lengths)
        token_ids = written.token_ids[:, :longest]
        # Padding may be the id of a token.
        is_written = tf.sequence_mask(written.lengths, longest)
        return {
            "text": self._text.detokenize(written.token_ids),
            "source_tokens": tf.where(features[PADDING_MASK], self._text.token_names(features[TOKEN_IDS]), ""),
            "tokens": tf.where(is_written, self._text.target_token_names(token_ids), ""),
            "alignment": written.alignment[:, :longest],
        }

    def _read(self, text: tf.Tensor, target: tf.Tensor) -> tuple[dict[str, tf.Tensor], dict[str, tf.Tensor]]:
        fields = {self.raw_fields[TEXT]: text, self._text.target_fields[0]: target}
        return padded(self._text(fields)), {"truncated": self._text.truncated(fields)}

    def _label_tokens(self, features: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        """Label source tokens, and the input token and the output token of each target position."""
        sides = {
            "": (self._labels[0], features[TOKEN_IDS], features[PADDING_MASK]),
            "target_": (self._labels[1], features[TARGET_IDS][:, :-1], features[TARGET_PADDING_MASK][:, 1:]),
            "written_": (self._labels[1], features[TARGET_IDS][:, 1:], features[TARGET_PADDING_MASK][:, 1:]),
        }
        named = [
            add_segments(labels(ids, real), tf.zeros_like(ids), real, prefix=prefix)
            for prefix, (labels, ids, real) in sides.items()
        ]
        return {name: value for labels in named for name, value in labels.items()}

    def _run(self, features: dict[str, tf.Tensor]) -> dict[str, Any]:
        return self._runs[0](features)

    def _outputs(self, written: Any) -> dict[str, tf.Tensor]:
        """Return the outputs for decoded texts, (B, ...) or (B, n, ...)."""
        shape = tf.shape(written.lengths)
        flat = tf.reshape(written.token_ids, [-1, tf.shape(written.token_ids)[-1]])
        return {
            "text": tf.reshape(self._text.detokenize(flat), shape),
            "score": written.scores,
            "length": written.lengths,
        }

    def _features(self, text: tf.Tensor) -> tuple[dict[str, tf.Tensor], tf.Tensor]:
        fields = {self.raw_fields[TEXT]: text}
        truncated = self._text.truncated(fields)
        if self._refuses:
            row = tf.strings.as_string(tf.argmax(tf.cast(truncated, tf.int32)) + 1)
            message = tf.strings.join(["the text in row ", row, f" has more than {self._text.max_length} tokens"])
            with tf.control_dependencies([tf.debugging.Assert(~tf.reduce_any(truncated), [message])]):
                text = tf.identity(text)
        return padded(self._text({self.raw_fields[TEXT]: text})), truncated

    def _lengths(self, fields: Columns) -> np.ndarray:
        features, _ = self._features(tf.constant(fields[TEXT], tf.string))
        return np.sum(features[PADDING_MASK], axis=1)
