"""The encoding of messages of Protocol Buffers: numbers, bytes and nested messages by field number.

Messages are read without generated code, which would need the version of protobuf that it was generated for.

Source: protobuf.dev/programming-guides/encoding.
"""

from collections.abc import Iterable, Iterator
from typing import TypeVar

Content = TypeVar("Content", bytes, memoryview)

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5  # types of fields
_MAX_BYTES = 10  # of a number


def fields(content: Content) -> Iterator[tuple[int, int | Content]]:
    """Yield the number and the value of each field of a message, the last value of a number counts.

    Args:
        content: the message; a memoryview yields views, which copy nothing.

    Raises:
        ValueError: the message is truncated, or has an unknown type.
        IndexError: the message is truncated.
    """
    offset = 0
    while offset < len(content):
        key, offset = _read_varint(content, offset)
        if key & 7 == VARINT:
            value, offset = _read_varint(content, offset)
            yield key >> 3, value
            continue
        if key & 7 == BYTES:
            size, offset = _read_varint(content, offset)
        elif key & 7 in (FIXED64, FIXED32):
            size = 8 if key & 7 == FIXED64 else 4
        else:
            raise ValueError("an unknown type of field")
        if size > len(content) - offset:
            raise ValueError("truncated")
        yield key >> 3, content[offset : offset + size]
        offset += size


def numbers(value: int | bytes | memoryview) -> list[int]:
    """Return the numbers of a repeated field: one, or packed into bytes.

    Raises:
        ValueError, IndexError: as `fields`.
    """
    if isinstance(value, int):
        return [value]
    found, offset = [], 0
    while offset < len(value):
        number, offset = _read_varint(value, offset)
        found.append(number)
    return found


def settings(content: bytes, chosen: Iterable[int]) -> dict[int, int]:
    """Return the numbers of some fields of a message that have a value."""
    found = {field: value for field, value in fields(content) if type(value) is int}
    return {field: _signed(found[field]) for field in chosen if field in found}


def with_number(content: bytes, field: int, value: int) -> bytes:
    """Set the number of a field of a message."""
    has_value = settings(content, [field]) == {field: value}
    return content if has_value else content + number_field(field, value)  # the last value counts


def number_field(field: int, value: int) -> bytes:
    """Encode a number."""
    return varint(field << 3) + varint(value % 2**64)


def text_field(field: int, value: bytes) -> bytes:
    """Encode bytes, or a message."""
    return varint(field << 3 | BYTES) + varint(len(value)) + value


def varint(value: int) -> bytes:
    """Encode a number of at least 0 without its field."""
    groups = []
    while value > 127:
        groups.append(value & 127 | 128)
        value >>= 7
    return bytes([*groups, value])


def _signed(value: int) -> int:
    """Return the number that a varint means."""
    return value - 2**64 if value >= 2**63 else value


def _read_varint(content: bytes | memoryview, offset: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 7 * _MAX_BYTES, 7):
        byte = content[offset]
        value |= (byte & 127) << shift
        offset += 1
        if byte < 128:
            return value, offset
    raise ValueError("a number has too many bytes")
