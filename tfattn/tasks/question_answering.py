"""Extractive question answering: the span of a text that answers a question."""

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
from tfattn.tasks.operating_point import Criterion, OperatingPoint
from tfattn.tasks.token_task import TokenTask

CROSS_ENTROPY = "cross_entropy"  # the only loss term


class QuestionAnswering(TokenTask):
    """A linear head that predicts the start and the end of the answer, with two logits for each token of the text.

    The answer is the span with the highest sum of start and end logits over all windows of the text. A span is searched
    in the window in which its first token has the most context. If some training questions have no answer, the span is
    compared with the lowest sum of the [CLS] logits over all windows, and the validation rows choose the threshold of
    the difference.

    Args:
        model: the encoder that reads question and text.
        targets: known from the data: the number of training `rows`, and of `unanswerable` rows among them.
        dropout: the fraction of each vector that is dropped in training.
        max_answer_length: the longest answer, in tokens.
        n_best_size: the number of spans kept for a question; probabilities are normalized over these spans.
        units: the units that metrics compare: "words", by the rules of SQuAD, or "characters", for languages without
            spaces.

    Call arguments:
        features: as TokenTask, with `starts`, `ends` and `max_context` (B, T); in training also `start_positions`
            and `end_positions` (B,).

    Returns:
        as TokenTask, with U = 2: the start and end logits.

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
        """Return 1 for each window with a target, (B,)."""
        has_target = ops.cast(batch[START_POSITIONS] >= 0, "float32")
        return {CROSS_ENTROPY: has_target * ops.cast(batch[WEIGHTS], "float32")}

    def loss_terms(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        """Compute the mean cross-entropy of start and end, over the text's tokens and [CLS], of each window (B,)."""
        in_text = _in_text(outputs)
        is_candidate = ops.logical_or(in_text, ops.arange(ops.shape(in_text)[1])[None, :] == 0)
        start, end = (
            _cross_entropy(ops.where(is_candidate, logits, NEVER), ops.maximum(batch[name], 0))
            for logits, name in zip(_sides(outputs), (START_POSITIONS, END_POSITIONS), strict=True)
        )
        return {CROSS_ENTROPY: (start + end) / 2}

    def predictions(self, outputs: dict[str, Any]) -> dict[str, Any]:
        """Return the K best spans, best first, (B, K) each, and whether there is an answer.

        `span_scores` are sums of start and end logits, `starts` and `ends` character offsets, `scores` probabilities;
        `null_score` (B,) is the sum of the [CLS] logits. `score` (B,) is the probability of the best span, or of no
        answer where `has_answer` (B,) is False.
        """
        in_text = _in_text(outputs)
        may_start = ops.logical_and(in_text, outputs[MAX_CONTEXT] > 0)
        scores, first, last = self._spans(outputs, may_start=may_start, may_end=in_text)
        found = scores > NEVER / 2
        start_logits, end_logits = _sides(outputs)
        return self._with_answers(
            {
                "span_scores": scores,
                STARTS: ops.where(found, ops.take_along_axis(outputs[STARTS], first, axis=1), 0),
                ENDS: ops.where(found, ops.take_along_axis(outputs[ENDS], last, axis=1), 0),
                "null_score": start_logits[:, 0] + end_logits[:, 0],
            }
        )

    def merge_examples(self, predictions: dict[str, Any], rows: Any, num_rows: Any) -> dict[str, Any]:
        """Keep the best spans over all windows of a row, and the lowest `null_score`."""
        rows = ops.cast(rows, "int32")
        windows = ops.arange(ops.shape(rows)[0], dtype="int32") - ops.cast(ops.searchsorted(rows, rows), "int32")
        max_windows = ops.max(windows, initial=0) + 1
        indices = rows * max_windows + windows

        def by_row(values: Any, padding: float) -> Any:
            values = ops.convert_to_tensor(values)
            values = values if len(values.shape) == 2 else values[:, None]
            width, num_segments = values.shape[1], num_rows * max_windows
            sums = ops.segment_sum(values, indices, num_segments=num_segments)
            is_window = ops.segment_sum(ops.ones_like(values), indices, num_segments=num_segments) > 0
            padded = ops.where(is_window, sums, ops.cast(padding, values.dtype))
            return ops.reshape(padded, (num_rows, max_windows * width))

        scores, chosen = ops.top_k(by_row(predictions["span_scores"], NEVER), self.n_best_size)
        spans = {name: ops.take_along_axis(by_row(predictions[name], 0), chosen, axis=1) for name in (STARTS, ENDS)}
        lowest = ops.min(by_row(predictions["null_score"], -NEVER), axis=1, initial=-NEVER)
        return self._with_answers({"span_scores": scores, **spans, "null_score": lowest})

    def combine(
        self, predictions: Sequence[dict[str, Any]], operating_point: OperatingPoint | None = None
    ) -> dict[str, Any]:
        (single,) = predictions
        return single if operating_point is None else self._with_answers(single, threshold=operating_point.threshold)

    def choose_operating_point(
        self,
        predictions: dict[str, np.ndarray],
        targets: dict[str, np.ndarray],
        rows: Sequence[dict[str, Any]],
        criterion: Criterion | None = None,
    ) -> OperatingPoint:
        """Choose the threshold of the best span's margin over no answer that maximizes F1."""
        margins = predictions["span_scores"][:, 0] - predictions["null_score"]
        given = self.texts(predictions, rows)
        return choose(margins, given, [answer_texts(row) for row in rows], units=self.units)

    def texts(self, predictions: dict[str, np.ndarray], rows: Sequence[dict[str, Any]]) -> list[str]:
        """Return the text of the best span of each row, also where there is no answer."""
        offsets = zip(predictions[STARTS][:, 0], predictions[ENDS][:, 0], strict=True)
        return [row[CONTEXT][start:end] for row, (start, end) in zip(rows, offsets, strict=True)]

    def statistics(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        """Count the windows with an answer and exact matches among them, and sum the F1 scores of their tokens."""
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
        """Compute the token F1 and the exact match of spans over the windows with an answer."""
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

    def _with_answers(self, spans: dict[str, Any], threshold: float = 0.0) -> dict[str, Any]:
        """Add probabilities over all spans and no answer, and whether the best span is the answer."""
        best, null = spans["span_scores"][:, 0], spans["null_score"]
        null = null if self.has_operating_point else ops.full_like(null, NEVER)
        has_answer = ops.logical_and(best > NEVER / 2, best - null >= threshold)
        scores = ops.softmax(ops.concatenate([spans["span_scores"], null[:, None]], axis=1), axis=1)
        score = ops.where(has_answer, scores[:, 0], scores[:, -1])
        return {**spans, "scores": scores[:, :-1], "has_answer": has_answer, "score": score}


def answer_texts(row: dict[str, Any]) -> list[str]:
    """Return the answer texts of a raw row."""
    return [answer["text"] for answer in row["answers"]]


def _sides(outputs: dict[str, Any]) -> tuple[Any, Any]:
    return outputs[LOGITS][:, :, 0], outputs[LOGITS][:, :, 1]


def _cross_entropy(logits: Any, positions: Any) -> Any:
    """Compute the cross-entropy of each row of logits (B, T) at its target position (B,)."""
    target_logits = ops.take_along_axis(logits, ops.cast(positions, "int32")[:, None], axis=1)[:, 0]
    return ops.logsumexp(logits, axis=1) - target_logits


def _in_text(outputs: dict[str, Any]) -> Any:
    """Return which tokens belong to the text, (B, T) bool."""
    return outputs[ENDS] > 0
