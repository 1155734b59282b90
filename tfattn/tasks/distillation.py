"""Distillation: a student learns the task, and also to compute what a larger teacher computes."""

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
from keras import ops

from tfattn.features import HIDDEN_STATES, LOGITS, PADDING_MASK, TEACHER_LOGITS, WEIGHTS
from tfattn.ops.attention_record import ENCODER, AttentionRecord
from tfattn.tasks.masked_lm_head import MASKED_LM_LOGITS
from tfattn.tasks.task import TRAINING_ONLY, Task

SOFT_LABELS, ATTENTION = "soft_labels", "attention_relations"  # loss terms, in addition to HIDDEN_STATES
MIN_WEIGHT = 1e-9  # attention weights below count as this weight


class Distillation(Task):
    """The training of a task with further loss terms, which compare it with a teacher.

    Soft labels: the divergence of the predicted distributions at a temperature T, KL(teacher, student) T^2, of each
    element of the task's first loss term. It has the weight alpha, and the terms of the task have 1 - alpha.
    Hidden states: the mean squared difference of the outputs of the embeddings and each layer of the student to those
    of evenly spaced layers of the teacher, at each token; a learned linear map if the widths differ.
    Attention relations: the divergence of the attention weights of the last layers, plus that of the relations of
    values softmax(V V^T / sqrt(K)), at each token, averaged over heads.

    The weights of the teacher are not weights of this task. The trained weights are those of the student, and of the
    linear map.

    Args:
        student: the task to train.
        teacher: a task whose outputs have the shapes of the student's; with the same inputs.
        soft_labels: alpha, from 0 to 1.
        temperature: T.
        hidden_states, attention: the weights of these terms; 0 leaves a term out.
        caches_logits: whether the logits of the teacher are computed once for each record, see `Task.precompute`.
            Otherwise the teacher reads each batch.

    Source: soft labels: Hinton et al. 2015, "Distilling the knowledge in a neural network", section 2; hidden states:
    Jiao et al. 2020, "TinyBERT", eq. 8 and 9, with a single map; attention relations: Wang et al. 2020, "MiniLM",
    eq. 6 to 8.
    """

    def __init__(
        self,
        *,
        student: Task,
        teacher: Task,
        soft_labels: float = 0.5,
        temperature: float = 2.0,
        hidden_states: float = 0.0,
        attention: float = 0.0,
        caches_logits: bool = False,
    ):
        super().__init__(name="distillation", autocast=False)
        self.student = student
        self._teacher = lambda: teacher  # not tracked: its weights are not weights of this task
        self.temperature = temperature
        self.factors = {SOFT_LABELS: soft_labels, HIDDEN_STATES: hidden_states, ATTENTION: attention}
        self.precomputed = (TEACHER_LOGITS,) if caches_logits else ()
        self.projection = None
        widths = [getattr(task.model, "hidden_dim", None) for task in (student, teacher)]
        if hidden_states and widths[0] != widths[1]:
            self.projection = keras.layers.Dense(widths[1], name="projection", dtype="float32")
            with keras.name_scope(TRAINING_ONLY.rstrip("/")):
                self.projection.build((None, None, widths[0]))
        self.metric_names = student.metric_names
        self.monitor, self.monitor_mode = student.monitor, student.monitor_mode
        self.labels = student.labels
        self.predicts_rows = student.predicts_rows
        self.built = True

    @property
    def model(self) -> keras.Model:
        """The model of the student."""
        return self.student.model

    @property
    def loss_names(self) -> tuple[str, ...]:
        return (*self.student.loss_names, *self._terms)

    @property
    def _terms(self) -> list[str]:
        return [name for name, factor in self.factors.items() if factor]

    def call(self, features: dict[str, Any], training: bool = False) -> dict[str, Any]:
        compares_layers = bool(self.factors[HIDDEN_STATES] or self.factors[ATTENTION])
        records = [{"record": AttentionRecord()} if compares_layers else {} for _ in range(2)]
        outputs = self.student(features, training=training, **records[0])
        if compares_layers or TEACHER_LOGITS not in features:
            taught = self._teacher()(features, training=False, **records[1])
        else:
            taught = {LOGITS: features[TEACHER_LOGITS]}
        terms = {}
        if self.factors[SOFT_LABELS]:
            terms[SOFT_LABELS] = soft_label_losses(_logits(taught), _logits(outputs), temperature=self.temperature)
        if self.factors[HIDDEN_STATES]:
            terms[HIDDEN_STATES] = self._hidden_losses(taught[HIDDEN_STATES], outputs[HIDDEN_STATES])
        if self.factors[ATTENTION]:
            last = [record["record"].last(ENCODER) for record in records]
            terms[ATTENTION] = relation_losses(last[1], last[0], features[PADDING_MASK])
        return {**outputs, **{f"loss/{name}": self.factors[name] * term for name, term in terms.items()}}

    def precompute(self, batch: dict[str, Any]) -> dict[str, Any]:
        return {TEACHER_LOGITS: ops.cast(_logits(self._teacher()(batch)), "float32")}

    def loss_weights(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Return the weights of the student's terms; soft labels have those of the first, layers 1 for each token."""
        weights = self.student.loss_weights(batch)
        by_term = {SOFT_LABELS: weights[self.student.loss_names[0]]}
        if self.factors[HIDDEN_STATES] or self.factors[ATTENTION]:
            tokens = ops.cast(batch[PADDING_MASK], "float32") * ops.cast(batch[WEIGHTS], "float32")[:, None]
            by_term |= {HIDDEN_STATES: tokens, ATTENTION: tokens}
        return {**weights, **{name: by_term[name] for name in self._terms}}

    def loss_terms(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        own = self.student.loss_terms(outputs, batch)
        own = {name: (1.0 - self.factors[SOFT_LABELS]) * term for name, term in own.items()}
        return {**own, **{name: outputs[f"loss/{name}"] for name in self._terms}}

    def predictions(self, outputs: dict[str, Any]) -> dict[str, Any]:
        return self.student.predictions(outputs)

    def statistics(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        return self.student.statistics(outputs, batch)

    def per_example(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        return self.student.per_example(outputs, batch)

    def metrics_from(self, statistics: dict[str, Any], rows: dict[str, np.ndarray]) -> dict[str, float]:
        return self.student.metrics_from(statistics, rows)

    def depth_groups(self) -> list[list[keras.Variable]]:
        *below, top = self.student.depth_groups()
        return [*below, [*top, *(self.projection.trainable_variables if self.projection else [])]]

    def _hidden_losses(self, teacher: Sequence[Any], student: Sequence[Any]) -> Any:
        """Compute the mean squared difference at each token: (B, T)."""
        chosen = [teacher[layer] for layer in matched_layers(len(student) - 1, len(teacher) - 1)]
        losses = []
        for ours, theirs in zip(student, chosen, strict=True):
            ours = ops.cast(ours, "float32")
            ours = ours if self.projection is None else self.projection(ours)
            losses.append(ops.mean(ops.square(ours - ops.cast(theirs, "float32")), axis=-1))
        return sum(losses) / len(losses)


def matched_layers(num_student: int, num_teacher: int) -> list[int]:
    """Return the layer of the teacher for the embeddings (0) and each layer of the student.

    Example:
        >>> matched_layers(2, 6)
        [0, 3, 6]
    """
    return [round(layer * num_teacher / num_student) for layer in range(num_student + 1)]


def soft_label_losses(teacher: Any, student: Any, *, temperature: float) -> Any:
    """Compute KL(teacher, student) at a temperature, times its square: (..., C) logits -> (...) float32."""
    theirs, ours = (ops.log_softmax(ops.cast(x, "float32") / temperature, axis=-1) for x in (teacher, student))
    return temperature**2 * ops.sum(ops.exp(theirs) * (theirs - ours), axis=-1)


def relation_losses(teacher: tuple[Any, Any], student: tuple[Any, Any], padding_mask: Any) -> Any:
    """Compute the divergence of attention weights and of relations of values at each token: (B, T) float32.

    Args:
        teacher, student: the attention weights (B, H, T, T) and the values (B, H, T, K) of a layer.
        padding_mask: (B, T), True at real tokens.
    """
    masked = (1.0 - ops.cast(padding_mask, "float32"))[:, None, None, :] * -1e9
    relations = []
    for _, values in (teacher, student):
        values = ops.cast(values, "float32")
        products = ops.matmul(values, ops.swapaxes(values, -1, -2)) / values.shape[-1] ** 0.5
        relations.append(ops.softmax(products + masked, axis=-1))
    weights = [ops.cast(weights, "float32") for weights, _ in (teacher, student)]
    return _divergence(*weights) + _divergence(*relations)


def _divergence(teacher: Any, student: Any) -> Any:
    """Compute KL(teacher, student) of rows of weights, averaged over heads: (B, H, T, S) -> (B, T)."""
    theirs, ours = (ops.log(ops.maximum(x, MIN_WEIGHT)) for x in (teacher, student))
    return ops.mean(ops.sum(teacher * (theirs - ours), axis=-1), axis=1)


def _logits(outputs: dict[str, Any]) -> Any:
    return outputs[LOGITS] if LOGITS in outputs else outputs[MASKED_LM_LOGITS]
