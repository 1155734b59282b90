"""Rows of plain Python values: rows of a caller as inputs of a signature, and outputs with readable names."""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from tfattn.errors import ServingError
from tfattn.features import IN_PREDICTION_SET, IS_LABEL, PREDICTION_SET, TEXT

PREDICTION = "prediction"  # a number
# The outputs of a tagger, a value for each entity of a text, with the key of an entity for each.
ENTITIES = {"entities": "text", "labels": "label", "start": "start", "end": "end", "score": "score"}
LENGTH = "length"


def records(rows: Any) -> list[Mapping[str, Any]]:
    """Return the rows of a caller as a list of mappings.

    Args:
        rows: mappings, or a pandas DataFrame, whose missing values become NaN.

    Raises:
        ServingError: a row is not a mapping.
    """
    if hasattr(rows, "to_dict") and hasattr(rows, "columns"):
        values = rows.astype(object)
        return values.where(values.notna(), math.nan).to_dict("records")
    rows = [rows] if isinstance(rows, str | Mapping) else list(rows)
    for row in rows:
        if not isinstance(row, Mapping):
            received = f"{type(row).__name__} {row!r}"
            raise ServingError("a row is not a mapping", expected="a value for each input, by name", received=received)
    return rows


def as_text(value: Any) -> Any:
    """Return a number as the text of a category: 3 and 3.0 as "3", NaN as ""; return other values unchanged."""
    value = value.item() if hasattr(value, "item") else value  # of NumPy
    if isinstance(value, float):
        return "" if math.isnan(value) else str(int(value) if value.is_integer() else value)
    return str(value) if isinstance(value, int) else value


def have_labels(outputs: Collection[str]) -> bool:
    """Return whether the named outputs are scores of labels."""
    return {"label", "label_id", "scores"} <= set(outputs) or {IS_LABEL, "scores"} <= set(outputs)


def named(outputs: dict[str, Any], labels: Sequence[str]) -> dict[str, Any]:
    """Name the outputs of a row for readers, the prediction first.

    Args:
        outputs: by name.
        labels: the names of the labels in the order of `scores`; empty if they are unknown, or there are none.

    Returns:
        with labels: the `label` with its `label_id` and its `score`, or the list of all predicted `labels`; then the
        labels of the `prediction_set`, the highest score first, if there is one; and then `scores` by label. The
        `entities` of a text are a list of mappings.
    """
    if {*ENTITIES, LENGTH} <= outputs.keys():
        each = zip(*(outputs[name] for name in ENTITIES), strict=True)
        found = [dict(zip(ENTITIES.values(), values, strict=True)) for values in each][: outputs[LENGTH]]
        others = {name: value for name, value in outputs.items() if name not in {*ENTITIES, LENGTH}}
        return {"entities": found, **others}
    if not labels:
        return {name: outputs[name] for name in sorted(outputs, key=lambda name: name not in (TEXT, PREDICTION))}
    scores = dict(zip(labels, outputs["scores"], strict=True))
    if IS_LABEL in outputs:
        predicted = {"labels": _masked(labels, outputs[IS_LABEL])}
    else:
        label = outputs["label"]
        predicted = {"label": label, "label_id": outputs["label_id"], "score": scores[label]}
    if IN_PREDICTION_SET in outputs:
        inside = _masked(labels, outputs[IN_PREDICTION_SET])
        predicted[PREDICTION_SET] = sorted(inside, key=lambda label: -scores[label])
    named = {**predicted, "scores": scores}
    return named | {name: value for name, value in outputs.items() if name not in {*named, IS_LABEL, IN_PREDICTION_SET}}


def _masked(labels: Sequence[str], mask: Sequence[bool]) -> list[str]:
    return [label for label, is_inside in zip(labels, mask, strict=True) if is_inside]


def decoded(value: Any) -> Any:
    """Decode the bytes of nested lists to strings."""
    if isinstance(value, list):
        return [decoded(item) for item in value]
    return value.decode("utf-8", errors="replace") if isinstance(value, bytes) else value
