"""The export of extractive question answering."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tfattn.errors import ExportError
from tfattn.export.servable_model import Comparison
from tfattn.export.servable_token_model import ServableTokenModel
from tfattn.features import ENDS, LOGITS, STARTS
from tfattn.preprocessing.word_bounds import substrings
from tfattn.trained.ensemble import TrainedEnsemble

N_BEST = "n_best"


class AnswerFinder(ServableTokenModel):
    """An export that finds the span of a text that answers a question.

        serving_default   question (B,), context (B,)
                          -> answer (B,) string, a substring of the context; start and end (B,) int32, its first code
                          point and the code point after its last; score (B,) float32, its probability; truncated (B,)
                          bool, whether the question was truncated. Without an answer: "", 0, 0, and the probability of
                          no answer
        n_best            question (B,), context (B,)
                          -> answer, start, end (B, K), best first, and score (B, K), the probability among these
                          answers and no answer; padded with "" and 0
        logits            token_ids, padding_mask, segment_ids, each (B, T) int32
                          -> start_logits and end_logits (B, T) float32

    A long context is read in windows; answers are taken from all of them.

    Args:
        ensemble: a single trained model.

    Raises:
        ExportError: the preprocessing does not read two texts, or the task does not compute in float32.
    """

    headline_metrics = ("f1", "exact_match")

    def __init__(self, ensemble: TrainedEnsemble):
        super().__init__(ensemble, name="answer_finder")
        self.check_fields(ensemble.preprocessor.fields)
        self._threshold = ensemble.operating_point.threshold if ensemble.operating_point else 0.0

    @classmethod
    def check_fields(cls, fields: Sequence[str]) -> None:
        if len(fields) != 2:
            raise ExportError(
                "question answering reads two fields",
                expected="`data.preprocessing.fields: [question, context]`",
                received=", ".join(fields),
            )

    def text_functions(self) -> dict[str, Any]:
        return {"serving_default": self._answer, N_BEST: self._n_best}

    def logits(self, *tokens: tf.Tensor) -> dict[str, tf.Tensor]:
        logits = self._runs[0](self._inputs.token_features(*tokens))[LOGITS]
        return {"start_logits": logits[:, :, 0], "end_logits": logits[:, :, 1]}

    def compare(
        self, expected: Mapping[str, np.ndarray], received: Mapping[str, Sequence[Any]], *, tolerance: float
    ) -> Comparison:
        """Compare answers for equality except for ties, and scores within the tolerance."""
        has_answer = np.asarray(expected["has_answer"])
        wanted = [np.where(has_answer, expected[name][:, 0], 0) for name in (STARTS, ENDS)]
        found = [np.asarray(received[name]) for name in ("start", "end")]
        agree = (wanted[0] == found[0]) & (wanted[1] == found[1])
        differences = np.abs(np.asarray(received["score"], np.float64) - expected["score"])
        sums = expected["span_scores"]
        margins = [sums[:, 0] - sums[:, 1], sums[:, 0] - expected["null_score"] - self._threshold]
        is_close = np.min(np.abs(margins), axis=0) <= 10 * tolerance  # sums are larger than probabilities
        largest = float(differences.max())
        return Comparison(
            wrong=np.where(agree, ~(differences <= tolerance), ~is_close),
            report={"answer_agreement": float(agree.mean()), "max_score_difference": largest},
            words=f"answers agree on {agree.sum()} of {len(agree)} rows, "
            f"scores differ by at most {largest:.2g} (allowed: {tolerance:g})",
            expected=lambda row: f"characters {wanted[0][row]} to {wanted[1][row]} and a score within {tolerance:g}",
            received=lambda row: (
                f"characters {found[0][row]} to {found[1][row]} and a score off by {differences[row]:.3g}"
            ),
        )

    def _answer(self, *texts: tf.Tensor) -> dict[str, tf.Tensor]:
        features, notes = self._inputs.read(texts)
        found = self._predicted(features, tf.size(texts[0]))
        start, end = (tf.where(found["has_answer"], found[name][:, 0], 0) for name in (STARTS, ENDS))
        return {
            "answer": _cut(texts[1], start[:, None], end[:, None])[:, 0],
            "start": start,
            "end": end,
            "score": found["score"],
            **notes,
        }

    def _n_best(self, *texts: tf.Tensor) -> dict[str, tf.Tensor]:
        features, _ = self._inputs.read(texts)
        found = self._predicted(features, tf.size(texts[0]))
        start, end = found[STARTS], found[ENDS]
        scores = tf.where(end > start, found["scores"], 0.0)
        return {"answer": _cut(texts[1], start, end), "start": start, "end": end, "score": scores}


def _cut(texts: tf.Tensor, starts: tf.Tensor, ends: tf.Tensor) -> tf.Tensor:
    """Return the substrings (B, K) of texts (B,)."""
    ragged = tf.RaggedTensor.from_tensor(starts), tf.RaggedTensor.from_tensor(ends)
    return tf.reshape(substrings(texts, *ragged).values, tf.shape(starts))
