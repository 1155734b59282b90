"""Bytes that were right once."""

import random

INTERESTING = (
    b"\x00",
    b"\xff",
    b"\x80",
    b"\r\n",
    b"{",
    b"}",
    b"[",
    b"]",
    b'"',
    b"\\",
    b"\\u",
    b"\xed\xa0\x80",
    b"1e400",
)


def mutated(data: bytes, source: random.Random) -> bytes:
    """The bytes with one to eight changes."""
    changed = bytearray(data)
    for _ in range(source.choice((1, 1, 1, 2, 4, 8))):
        source.choice((_flip, _set, _insert, _remove, _repeat, _cut))(changed, source)
    return bytes(changed)


def _flip(data: bytearray, source: random.Random) -> None:
    if data:
        data[source.randrange(len(data))] ^= 1 << source.randrange(8)


def _set(data: bytearray, source: random.Random) -> None:
    if data:
        data[source.randrange(len(data))] = source.randrange(256)


def _insert(data: bytearray, source: random.Random) -> None:
    place = source.randint(0, len(data))
    data[place:place] = source.choice(INTERESTING + (source.randbytes(source.randint(1, 16)),))


def _remove(data: bytearray, source: random.Random) -> None:
    start, end = _span(data, source)
    del data[start:end]


def _repeat(data: bytearray, source: random.Random) -> None:
    start, end = _span(data, source)
    data[end:end] = data[start:end] * source.choice((1, 2, 50))


def _cut(data: bytearray, source: random.Random) -> None:
    del data[source.randint(0, len(data)) :]


def _span(data: bytearray, source: random.Random) -> tuple[int, int]:
    start = source.randint(0, len(data))
    return start, min(len(data), start + source.randint(1, 32))
