"""Answers as plain Python values, under the names that a person would use."""

from collections.abc import Sequence
from typing import Any

from tfattn.features import TEXT


def named(answer: dict[str, Any], labels: Sequence[str]) -> dict[str, Any]:
    """The outputs of one row, what was written first; where there are label names, with the scores under them, and the
    label's own."""
    if not labels:
        return {name: answer[name] for name in sorted(answer, key=lambda name: name != TEXT)}
    scores = dict(zip(labels, answer["scores"], strict=True))
    label = answer["label"]
    named = {"label": label, "label_id": answer["label_id"], "score": scores[label], "scores": scores}
    return named | {name: value for name, value in answer.items() if name not in named}


def decoded(value: Any) -> Any:
    """Nested lists with strings in place of bytes."""
    if isinstance(value, list):
        return [decoded(item) for item in value]
    return value.decode("utf-8", errors="replace") if isinstance(value, bytes) else value
