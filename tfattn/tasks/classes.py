"""What tasks that give every row one of C labels have in common: head, weights of labels, loss, counts, predictions."""

import difflib
from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from tfattn.errors import ConfigError
from tfattn.features import LABEL_IDS, LOGITS, WEIGHTS
from tfattn.ops.segments import mean_by_row

CROSS_ENTROPY = "cross_entropy"  # the one term of the loss


def head(num_classes: int, width: int) -> keras.layers.Dense:
    """A built linear map, (B, width) -> (B, C).

    In float32 always: it costs nothing, and scores are not rounded to bfloat16.
    """
    layer = keras.layers.Dense(
        num_classes, kernel_initializer=keras.initializers.TruncatedNormal(stddev=0.02), name="head", dtype="float32"
    )
    layer.build((None, width))
    return layer


def weights_of_classes(
    class_weights: str | dict[str, float] | None,
    *,
    num_classes: int,
    labels: list[str] | None,
    class_counts: list[int] | None,
) -> list[float] | None:
    """How much a row of each label counts in the loss, or None where all count the same.

    Args:
        class_weights: "balanced" lets every label count the same in total, a table gives the weight of some labels
            (others weigh 1), None changes nothing.
        num_classes: C.
        labels: the C labels in the order of their ids; None where they are not known yet, and all weigh the same.
        class_counts: training rows of each label, in the same order.

    Raises:
        ConfigError: the table names a label that the data do not have, or there are no counts to balance by.
    """
    if class_weights is None:
        return None
    if class_weights == "balanced":
        if class_counts is None:
            raise ConfigError("balancing needs the number of training rows of each label", key="class_weights")
        # As scikit-learn's "balanced": rows / (classes * rows of the class). A label of `data.labels` may have no rows.
        return [sum(class_counts) / (num_classes * max(count, 1)) for count in class_counts]
    for label in class_weights:
        check_label(label, labels, key="class_weights", expected="some of")
    return None if labels is None else [float(class_weights.get(label, 1.0)) for label in labels]


def check_label(label: str, labels: list[str] | None, *, key: str, expected: str = "one of") -> None:
    """Refuses a label that the data do not have, if it is known which they have.

    Raises:
        ConfigError: `key` names it; suggests the nearest.
    """
    if labels is not None and label not in labels:
        spelled = {name.lower(): name for name in labels}
        near = difflib.get_close_matches(label.lower(), spelled, n=1)
        raise ConfigError(
            "the data have no such label",
            key=key,
            expected=f"{expected} {', '.join(labels)}",
            received=repr(label),
            remedy=f"Did you mean `{spelled[near[0]]}`?" if near else "",
        )


def loss_weights(batch: dict[str, Any], *, weight_of_class: list[float] | None) -> dict[str, Any]:
    """How much each row counts: (B,) float32.

    Args:
        batch: `label_ids` (B,) and `weights` (B,).
        weight_of_class: what the weight of a row is multiplied by, by its label.
    """
    weights = ops.cast(batch[WEIGHTS], "float32")
    if weight_of_class is not None:
        weights = weights * ops.take(ops.convert_to_tensor(weight_of_class, "float32"), batch[LABEL_IDS])
    return {CROSS_ENTROPY: weights}


def loss_terms(outputs: dict[str, Any], batch: dict[str, Any], *, label_smoothing: float) -> dict[str, Any]:
    """Cross-entropy of each row: (B,) float32.

    Args:
        outputs: `logits` (B, C).
        batch: `label_ids` (B,).
        label_smoothing: the part of each target that is spread evenly over all labels.

    Source: label smoothing: Szegedy et al. 2016, "Rethinking the inception architecture", section 7.
    """
    logits = outputs[LOGITS]
    num_classes = logits.shape[-1]
    targets = ops.one_hot(batch[LABEL_IDS], num_classes, dtype="float32")
    targets = targets * (1.0 - label_smoothing) + label_smoothing / num_classes
    return {CROSS_ENTROPY: -ops.sum(targets * ops.log_softmax(logits, axis=-1), axis=-1)}


def predictions(outputs: dict[str, Any]) -> dict[str, Any]:
    """`scores` (B, C) float32, which sum to 1, and `label_ids` (B,) int32, the best of each."""
    scores = ops.softmax(outputs[LOGITS], axis=-1)
    return {"scores": scores, LABEL_IDS: ops.cast(ops.argmax(scores, axis=-1), "int32")}


def statistics(outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
    """How often each label was the right one (`true`), was given (`given`) and both (`right`): (C,) float32 each."""
    num_classes = outputs[LOGITS].shape[-1]
    counts = ops.cast(batch[WEIGHTS] > 0, "float32")[:, None]
    true = ops.one_hot(batch[LABEL_IDS], num_classes, dtype="float32") * counts
    given = ops.one_hot(predictions(outputs)[LABEL_IDS], num_classes, dtype="float32") * counts
    return {name: ops.sum(rows, axis=0) for name, rows in (("true", true), ("given", given), ("right", true * given))}


def combined(predictions: Sequence[dict[str, Any]], *, positive_id: int | None = None, threshold: float | None = None):
    """Give the mean of several predictions, and the label that it stands for: a dictionary like each of them.

    Args:
        predictions: of each task, `scores` (B, C), `label_ids` (B,), and whatever else numbers can say of a row.
        positive_id: the label that is looked for, and
        threshold: the score from which on a row gets it; the best score decides where there is none.
    """
    if len(predictions) == 1:
        (together,) = predictions
    else:
        names = [name for name in predictions[0] if name != LABEL_IDS]
        together = {name: ops.mean(ops.stack([one[name] for one in predictions]), axis=0) for name in names}
    return _decided(together, positive_id, threshold)


def gathered(predictions: dict[str, Any], rows: Any, num_rows: Any) -> dict[str, Any]:
    """Give the mean of what is predicted for the examples of each row, and the label with the best score.

    Args:
        predictions: `scores` (E, C), `label_ids` (E,), and whatever else numbers can say of an example.
        rows: (E,) int, rising, of which row each example is.
        num_rows: B.
    """
    means = {name: mean_by_row(x, rows, num_rows) for name, x in predictions.items() if name != LABEL_IDS}
    return _decided(means)


def _decided(means: dict[str, Any], positive_id: int | None = None, threshold: float | None = None) -> dict[str, Any]:
    """Add the label that scores stand for."""
    scores = means["scores"]
    if threshold is None:
        label_ids = ops.argmax(scores, axis=-1)
    else:
        is_positive = ops.one_hot(positive_id, scores.shape[-1], dtype="float32")
        others = ops.argmax(scores - 2.0 * is_positive, axis=-1)
        label_ids = ops.where(ops.sum(scores * is_positive, axis=-1) >= threshold, positive_id, others)
    return {**means, LABEL_IDS: ops.cast(label_ids, "int32")}
