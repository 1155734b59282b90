"""Damage to a small file: loss, truncation, overwriting, a flipped byte, or changed content."""

import json
from collections.abc import Iterator

Damage = tuple[str, bytes | None]  # what happened, and what the file holds then; None where it is gone

FLIPS = 6  # of a bit, at places spread evenly over a file


def damages(content: bytes, *, is_json: bool) -> Iterator[Damage]:
    """All that we try on a file of this content, each different from it."""
    yield "deleted", None
    yield "emptied", b""
    yield "cut in half", content[: len(content) // 2]
    yield "zeroed", bytes(len(content))
    yield "grown", content + b"\n{}"
    for number in range(FLIPS):
        place = (2 * number + 1) * len(content) // (2 * FLIPS)
        flipped = content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
        yield f"a bit of byte {place} flipped", flipped
    if is_json:
        for what, value in _told_otherwise(json.loads(content)):
            yield what, json.dumps(value, indent=2).encode()


def _told_otherwise(value: dict) -> Iterator[tuple[str, object]]:
    yield "another JSON object", {"x": 1}
    yield "a JSON list", [value]
    for key, inner in value.items():
        rest = {name: other for name, other in value.items() if name != key}
        yield f"`{key}` lost", rest
        yield f"`{key}` renamed", {**rest, key[:-1] + chr(ord(key[-1]) ^ 1): inner}
        yield f"`{key}` of another type", {**value, key: [inner]}
        changed = _changed(inner)
        if changed is not None:
            yield f"`{key}` says something else", {**value, key: changed}


def _changed(value: object) -> object:
    """The value with a label, a number or a word in it changed; None where there is nothing to change."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str):
        return value + "s"
    if isinstance(value, list):
        return [_changed(value[0]), *value[1:]] if value else ["more"]
    if isinstance(value, dict) and value:
        first = next(iter(value))
        return {**value, first: _changed(value[first])}
    return None
