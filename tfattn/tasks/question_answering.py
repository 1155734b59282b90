"""Question answering: the part of a text that answers a question."""

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from keras import ops
from pydantic import Field, PositiveInt

from tfattn.config.types import Given, Rate
from tfattn.features import (
    CONTEXT,
    END_POSITIONS,
    ENDS,
    LOGITS,
    MAX_CONTEXT,
    START_POSITIONS,
    STARTS,
    WEIGHTS,
)
from tfattn.models.contracts.encoder import Encoder
from tfattn.ops.spans import NEVER, best_spans
from tfattn.tasks.answer_metrics import Units
from tfattn.tasks.answer_threshold import choose
from tfattn.tasks.operating_point import OperatingPoint
from tfattn.tasks.token_task import TokenTask

CROSS_ENTROPY = "cross_entropy"  # the one term of the loss


class QuestionAnswering(TokenTask):
    """Predicts where the answer begins and ends, by two numbers of each token of the text.

    The answer is the span whose two numbers are the highest together, of all windows of the text; a span is looked for
    where its first token has the most text around it. Where some training questions have no answer, [CLS] stands
    against it, with its lowest sum of all windows, and the validation rows choose by how much the span has to be
    better.

    Args:
        model: the encoder that reads question and text.
        targets: known from the data: training `rows`, and how many of them are `unanswerable`.
        dropout: the part of each vector that is dropped while training.
        max_answer_length: the longest answer, in tokens.
        n_best_size: how many spans are kept of a question, among which probabilities are divided.
        units: what the metrics compare: "words", by the rules of SQuAD, or "characters", in languages without spaces.

    Call arguments:
        features: as of TokenTask, with `starts`, `ends` and `max_context` (B, T); where it is taught `start_positions`
            and `end_positions` (B,).

    Returns:
        as TokenTask, with U = 2: begin and end.

    Example:
        >>> import keras
        >>> from tfattn.models.bert import Bert
        >>> encoder = Bert(vocabulary_size=100, hidden_dim=8, num_layers=2, num_heads=2, intermediate_dim=32)
        >>> task = QuestionAnswering(model=encoder, targets={"rows": 5, "unanswerable": 0})
        >>> task({"token_ids": keras.ops.ones((1, 5), "int32")})["logits"].shape
        TensorShape([1, 5, 2])

    Source: Devlin et al. 2018, "BERT", sections 4.2 and 4.3.
    """

    loss_names = (CROSS_ENTROPY,)
    metric_names = ("span_f1", "span_accuracy")
    monitor = "span_f1"
    monitor_mode = "max"

    def __init__(
        self,
        *,
        model: Given[Encoder],
        targets: Given[dict[str, Any]],
        dropout: Rate = 0.1,
        max_answer_length: Annotated[int, Field(ge=1, le=512)] = 30,
        n_best_size: PositiveInt = 20,
        units: Units = "words",
    ):
        super().__init__(model, units=2, dropout=dropout, name="question_answering")
        self.max_answer_length = max_answer_length
        self.n_best_size = n_best_size
        self.units = units
        self.has_operating_point = targets["unanswerable"] > 0

    def loss_weights(self, batch: dict[str, Any]) -> dict[str, Any]:
        """1 for each window that is taught (B,)."""
        is_taught = ops.cast(batch[START_POSITIONS] >= 0, "float32")
        return {CROSS_ENTROPY: is_taught * ops.cast(batch[WEIGHTS], "float32")}

    def loss_terms(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        """Compute the mean loss of begin and end, each one of the text's tokens or [CLS], of each window (B,)."""
        places = _in_text(outputs)
        may_be = ops.logical_or(places, ops.arange(ops.shape(places)[1])[None, :] == 0)
        start, end = (
            _cross_entropy(ops.where(may_be, logits, NEVER), ops.maximum(batch[name], 0))
            for logits, name in zip(_sides(outputs), (START_POSITIONS, END_POSITIONS), strict=True)
        )
        return {CROSS_ENTROPY: (start + end) / 2}

    def predictions(self, outputs: dict[str, Any]) -> dict[str, Any]:
        """Give the K best spans, best first, (B, K) each, and which is the answer.

        `span_scores` are the sums of both numbers, `starts` and `ends` the places in the text, `scores` probabilities;
        `null_score` (B,) is the sum of [CLS]. `score` (B,) is the probability of the best span, or that there is no
        answer where `has_answer` (B,) is False.
        """
        in_text = _in_text(outputs)
        best = self._spans(outputs, may_start=ops.logical_and(in_text, outputs[MAX_CONTEXT] > 0), may_end=in_text)
        scores, first, last = best
        found = scores > NEVER / 2
        start_logits, end_logits = _sides(outputs)
        return self._decided(
            {
                "span_scores": scores,
                STARTS: ops.where(found, ops.take_along_axis(outputs[STARTS], first, axis=1), 0),
                ENDS: ops.where(found, ops.take_along_axis(outputs[ENDS], last, axis=1), 0),
                "null_score": start_logits[:, 0] + end_logits[:, 0],
            }
        )

    def gathered(self, predictions: dict[str, Any], rows: Any, num_rows: Any) -> dict[str, Any]:
        """Keep the best spans of all windows of a row, and the lowest score of no answer."""
        rows = ops.cast(rows, "int32")
        windows = ops.arange(ops.shape(rows)[0], dtype="int32") - ops.cast(ops.searchsorted(rows, rows), "int32")
        most = ops.max(windows, initial=0) + 1
        places = rows * most + windows
        size = self.n_best_size

        def of_rows(values: Any, absent: float) -> Any:
            values = ops.convert_to_tensor(values)
            values = values if len(values.shape) == 2 else values[:, None]
            width = values.shape[1]
            sums = ops.segment_sum(values, places, num_segments=num_rows * most)
            there = ops.segment_sum(ops.ones_like(values), places, num_segments=num_rows * most) > 0
            return ops.reshape(ops.where(there, sums, ops.cast(absent, values.dtype)), (num_rows, most * width))

        scores, chosen = ops.top_k(of_rows(predictions["span_scores"], NEVER), size)
        spans = {name: ops.take_along_axis(of_rows(predictions[name], 0), chosen, axis=1) for name in (STARTS, ENDS)}
        lowest = ops.min(of_rows(predictions["null_score"], -NEVER), axis=1, initial=-NEVER)
        return self._decided({"span_scores": scores, **spans, "null_score": lowest})

    def combined(
        self, predictions: Sequence[dict[str, Any]], operating_point: OperatingPoint | None = None
    ) -> dict[str, Any]:
        (alone,) = predictions
        return alone if operating_point is None else self._decided(alone, threshold=operating_point.threshold)

    def choose_operating_point(
        self,
        predictions: dict[str, np.ndarray],
        targets: dict[str, np.ndarray],
        rows: Sequence[dict[str, Any]],
    ) -> OperatingPoint:
        """Choose by how much the best span has to be better than no answer, so that F1 is the highest."""
        margins = predictions["span_scores"][:, 0] - predictions["null_score"]
        given = self.texts(predictions, rows)
        return choose(margins, given, [texts_of(row) for row in rows], units=self.units)

    def texts(self, predictions: dict[str, np.ndarray], rows: Sequence[dict[str, Any]]) -> list[str]:
        """Return the best span of each row, whether or not it is given as the answer."""
        places = zip(predictions[STARTS][:, 0], predictions[ENDS][:, 0], strict=True)
        return [row[CONTEXT][start:end] for row, (start, end) in zip(rows, places, strict=True)]

    def statistics(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        """Count windows that have their answer, those whose best span is exactly it, and sum the F1 of their tokens."""
        in_text = _in_text(outputs)
        _, first, last = self._spans(outputs, may_start=in_text, may_end=in_text, count=1)
        first, last = first[:, 0], last[:, 0]
        start, end = batch[START_POSITIONS], batch[END_POSITIONS]
        counts = ops.cast(ops.logical_and(start > 0, batch[WEIGHTS] > 0), "float32")
        shared = ops.maximum(ops.minimum(last, end) - ops.maximum(first, start) + 1, 0)
        f1 = 2.0 * ops.cast(shared, "float32") / ops.cast(last - first + end - start + 2, "float32")
        exact = ops.cast(ops.logical_and(first == start, last == end), "float32")
        return {"exact": ops.sum(exact * counts), "f1": ops.sum(f1 * counts), "windows": ops.sum(counts)}

    def metrics_from(self, statistics: dict[str, Any], rows: dict[str, np.ndarray]) -> dict[str, float]:
        """Compute how well spans are found in the windows that have an answer, by their tokens."""
        windows = max(statistics["windows"], 1)
        return {"span_f1": float(statistics["f1"] / windows), "span_accuracy": float(statistics["exact"] / windows)}

    def _spans(self, outputs: dict[str, Any], *, may_start: Any, may_end: Any, count: int = 0) -> tuple[Any, Any, Any]:
        return best_spans(
            *_sides(outputs),
            may_start=may_start,
            may_end=may_end,
            max_length=self.max_answer_length,
            count=count or self.n_best_size,
        )

    def _decided(self, spans: dict[str, Any], threshold: float = 0.0) -> dict[str, Any]:
        """Add probabilities among all spans and that there is none, and which of these is the answer."""
        best, null = spans["span_scores"][:, 0], spans["null_score"]
        none = null if self.has_operating_point else ops.full_like(null, NEVER)
        has_answer = ops.logical_and(best > NEVER / 2, best - none >= threshold)
        scores = ops.softmax(ops.concatenate([spans["span_scores"], none[:, None]], axis=1), axis=1)
        score = ops.where(has_answer, scores[:, 0], scores[:, -1])
        return {**spans, "scores": scores[:, :-1], "has_answer": has_answer, "score": score}


def texts_of(row: dict[str, Any]) -> list[str]:
    """Return the texts of the answers of a raw row."""
    return [answer["text"] for answer in row["answers"]]


def _sides(outputs: dict[str, Any]) -> tuple[Any, Any]:
    return outputs[LOGITS][:, :, 0], outputs[LOGITS][:, :, 1]


def _cross_entropy(logits: Any, places: Any) -> Any:
    """Compute that of each row (B, T) at its place (B,)."""
    at_place = ops.take_along_axis(logits, ops.cast(places, "int32")[:, None], axis=1)[:, 0]
    return ops.logsumexp(logits, axis=1) - at_place


def _in_text(outputs: dict[str, Any]) -> Any:
    """Find the tokens that stand in the text, (B, T) bool."""
    return outputs[ENDS] > 0
