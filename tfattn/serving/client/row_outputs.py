"""The outputs of a row as plain Python values, under the names that a person would use."""

from collections.abc import Sequence
from typing import Any

from tfattn.features import TEXT


def named(outputs: dict[str, Any], labels: Sequence[str]) -> dict[str, Any]:
    """The outputs of one row, what was written first; where there are label names, with the scores under them, and the
    label's own."""
    if not labels:
        return {name: outputs[name] for name in sorted(outputs, key=lambda name: name != TEXT)}
    scores = dict(zip(labels, outputs["scores"], strict=True))
    label = outputs["label"]
    named = {"label": label, "label_id": outputs["label_id"], "score": scores[label], "scores": scores}
    return named | {name: value for name, value in outputs.items() if name not in named}


def decoded(value: Any) -> Any:
    """Nested lists with strings in place of bytes."""
    if isinstance(value, list):
        return [decoded(item) for item in value]
    return value.decode("utf-8", errors="replace") if isinstance(value, bytes) else value
