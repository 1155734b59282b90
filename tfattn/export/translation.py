"""What an exported translator can be asked."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tfattn.export.attention import with_segments
from tfattn.export.lengths import one_of_each_length
from tfattn.export.served import Columns, Comparison, Served
from tfattn.features import PADDING_MASK, TARGET, TARGET_IDS, TARGET_PADDING_MASK, TEXT, TOKEN_IDS
from tfattn.preprocessing.padding import padded
from tfattn.preprocessing.token_labels import source_token_labels, target_token_labels
from tfattn.trained.ensemble import TrainedEnsemble

ALIGNMENT = "alignment"


class Translator(Served):
    """Writes a text for each text.

    Batches are padded to their longest source; a row's answer does not depend on the other rows.

        serving_default   text (B,)
                          -> text (B,) string; score (B,) float32, the logarithm of its probability, divided by the
                          length penalty; length (B,) int32, its tokens; truncated (B,) bool, whether the source was
                          too long and its end was not read
        n_best            text (B,)
                          -> text, score, length, each (B, n), best first
        attention, attention_vectors
                          of text (B,) and target (B,), a text that it might write: see `attention.signatures`
        alignment         where the model attends to its source: text (B,)
                          -> text (B,); source_tokens (B, S) and tokens (B, L) string, "" where padded; alignment
                          (B, L, S) float32, how much each source token counted as a token was written

    Args:
        ensemble: the trained model, one alone.

    Raises:
        ExportError: the task computes in another type than float32.
    """

    shown_metrics = ("bleu", "baseline_bleu", "chrf", "exact_match")

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
        functions = {"serving_default": self._translate, "n_best": self._several}
        functions |= {ALIGNMENT: self._aligned} if self._aligns else {}
        of_texts = {
            name: tf.function(function, input_signature=text, autograph=False) for name, function in functions.items()
        }
        return {**of_texts, **self.views()}

    def views(self) -> dict[str, Any]:
        if not self._aligns:
            return {}
        pair = [tf.TensorSpec([None], tf.string, name=name) for name in (TEXT, TARGET)]
        return self._attention(inputs=pair, read=self._read, labels=self._labelled)

    def request(self, rows: Sequence[Mapping[str, str]]) -> dict[str, list[str]]:
        return {TEXT: [row[self.raw_fields[TEXT]] for row in rows]}

    def warm_up(self, rows: Sequence[Mapping[str, str]]) -> Iterator[tuple[str, Columns]]:
        """Yield a source of every length there may be, each alone and all together; then each other signature."""
        (texts,) = one_of_each_length(self._lengths, self.request(rows)).values()
        for text in texts:
            yield "serving_default", {TEXT: [text]}
        for signature in ("serving_default", "n_best", *([ALIGNMENT] if self._aligns else [])):
            yield signature, {TEXT: texts}

    def compared(
        self, expected: Mapping[str, np.ndarray], received: Mapping[str, Sequence[Any]], *, tolerance: float
    ) -> Comparison:
        """Texts are to be the same, and their scores about the same."""
        texts = [text.decode("utf-8", "replace") for text in self._text.detokenize(expected["token_ids"]).numpy()]
        agree = np.array([ours == theirs for ours, theirs in zip(texts, received["text"], strict=True)])
        differences = np.abs(np.asarray(received["score"], np.float64) - expected["scores"])
        largest = float(differences.max())
        near = differences <= tolerance
        # Two texts of the same score are both the best; which of them is written, the last digit decides.
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
        return {**self._named(written), "truncated": truncated}

    def _several(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        features, _ = self._features(text)
        return self._named(self._write(self._run(features), n_best=True))

    def _aligned(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        features, _ = self._features(text)
        written = self._write(self._run(features), aligned=True)
        longest = tf.reduce_max(written.lengths)
        token_ids = written.token_ids[:, :longest]
        return {
            "text": self._text.detokenize(written.token_ids),
            "source_tokens": self._text.tokens_of(features[TOKEN_IDS]),
            "tokens": self._text.target_tokens_of(token_ids),
            "alignment": written.alignment[:, :longest],
        }

    def _read(self, text: tf.Tensor, target: tf.Tensor) -> tuple[dict[str, tf.Tensor], dict[str, tf.Tensor]]:
        fields = {self.raw_fields[TEXT]: text, self._text.target_fields[0]: target}
        return padded(self._text(fields)), {"truncated": self._text.truncated(fields)}

    def _labelled(self, features: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        """Label the source, and of each position of the target what is read there and what is written."""
        sides = {
            "": (self._labels[0], features[TOKEN_IDS], features[PADDING_MASK]),
            "target_": (self._labels[1], features[TARGET_IDS][:, :-1], features[TARGET_PADDING_MASK][:, 1:]),
            "written_": (self._labels[1], features[TARGET_IDS][:, 1:], features[TARGET_PADDING_MASK][:, 1:]),
        }
        named = [
            with_segments(labels(ids, real), tf.zeros_like(ids), real, prefix=prefix)
            for prefix, (labels, ids, real) in sides.items()
        ]
        return {name: value for one in named for name, value in one.items()}

    def _run(self, features: dict[str, tf.Tensor]) -> dict[str, Any]:
        return self._runs[0](features)

    def _named(self, written: Any) -> dict[str, tf.Tensor]:
        """Name the outputs of what was written, (B, ...) or (B, n, ...)."""
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
            said = tf.strings.join(["the text in row ", row, f" has more than {self._text.max_length} tokens"])
            with tf.control_dependencies([tf.debugging.Assert(~tf.reduce_any(truncated), [said])]):
                text = tf.identity(text)
        return padded(self._text({self.raw_fields[TEXT]: text})), truncated

    def _lengths(self, fields: Columns) -> np.ndarray:
        features, _ = self._features(tf.constant(fields[TEXT], tf.string))
        return np.sum(features[PADDING_MASK], axis=1)
