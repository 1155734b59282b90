"""The outputs of a row as plain Python values, under readable names."""

from collections.abc import Collection, Sequence
from typing import Any

from tfattn.features import IS_LABEL, TEXT

PREDICTION = "prediction"  # a number
# The outputs of a tagger, a value for each entity of a text, and under which names an entity has them.
ENTITIES = {"entities": "text", "labels": "label", "start": "start", "end": "end", "score": "score"}
LENGTH = "length"


def have_labels(outputs: Collection[str]) -> bool:
    """Tell by the names of outputs whether their scores are those of labels, one or any number of which are given."""
    return {"label", "label_id", "scores"} <= set(outputs) or {IS_LABEL, "scores"} <= set(outputs)


def named(outputs: dict[str, Any], labels: Sequence[str]) -> dict[str, Any]:
    """Name the outputs of one row as a person would, what was written or predicted first.

    Args:
        outputs: by name.
        labels: the names of the labels in the order of `scores`; none where they are not known, or there are none.

    Returns:
        where there are labels, `scores` by their names, before them the `label` with its `label_id` and its own
        `score`, or the list of all `labels` that are given. The `entities` of a text are a list, with what is known of
        each.
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
        given = [label for label, is_label in zip(labels, outputs[IS_LABEL], strict=True) if is_label]
        named = {"labels": given, "scores": scores}
    else:
        label = outputs["label"]
        named = {"label": label, "label_id": outputs["label_id"], "score": scores[label], "scores": scores}
    return named | {name: value for name, value in outputs.items() if name not in {*named, IS_LABEL}}


def decoded(value: Any) -> Any:
    """Decode the bytes of nested lists to strings."""
    if isinstance(value, list):
        return [decoded(item) for item in value]
    return value.decode("utf-8", errors="replace") if isinstance(value, bytes) else value
