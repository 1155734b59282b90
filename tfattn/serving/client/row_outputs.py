"""The outputs of a row as plain Python values, under readable names."""

from collections.abc import Sequence
from typing import Any

from tfattn.features import TEXT


def named(outputs: dict[str, Any], labels: Sequence[str]) -> dict[str, Any]:
    """Name the outputs of one row, written text first; with labels, the label and its score first, then all scores."""
    if not labels:
        return {name: outputs[name] for name in sorted(outputs, key=lambda name: name != TEXT)}
    scores = dict(zip(labels, outputs["scores"], strict=True))
    label = outputs["label"]
    named = {"label": label, "label_id": outputs["label_id"], "score": scores[label], "scores": scores}
    return named | {name: value for name, value in outputs.items() if name not in named}


def decoded(value: Any) -> Any:
    """Decode the bytes of nested lists to strings."""
    if isinstance(value, list):
        return [decoded(item) for item in value]
    return value.decode("utf-8", errors="replace") if isinstance(value, bytes) else value
