"""The header of a GGUF file: the metadata of a model, and the locations of its tensors.

The reader of the package `gguf` trusts the numbers in a file. This reader checks each number against the rest of the
file before any allocation, so that a damaged or hostile file takes no memory. The package has the quantizations.
"""

import itertools
import math
import mmap
import struct
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from tfattn.errors import CheckpointError, ConfigError

_MAGIC, _VERSIONS = b"GGUF", (2, 3)
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_COUNT = 10  # the type of all counts, lengths and offsets
_MAX_AXES = 4


@dataclass(frozen=True)
class StoredTensor:
    """A tensor of a file.

    Args:
        quantization: the GGML quantization type.
        shape: the shape, rows first; the values of a row are contiguous.
        start: the offset of the first byte in the file.
        size: the size in bytes.
    """

    quantization: int
    shape: tuple[int, ...]
    start: int
    size: int


@dataclass(frozen=True)
class Header:
    """The content of a file before its tensors.

    Args:
        metadata: values by name: numbers, strings, lists of strings, arrays of numbers.
        tensors: the tensors by name.
    """

    metadata: dict[str, Any]
    tensors: dict[str, StoredTensor]


def read_header(path: Path) -> Header:
    """Read the header of a file, and check that the file has all tensors.

    Raises:
        ConfigError: the package `gguf` is not installed.
        CheckpointError: the file is no GGUF file, is truncated or damaged, or has unknown quantizations.

    Example:
        >>> read_header(pretrained.open("smollm2").path).metadata["general.architecture"]
        'llama'
    """
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return _HeaderReader(content, str(path)).header()
    except (OSError, ValueError) as error:  # an empty file cannot be mapped
        raise CheckpointError(f"cannot be read as GGUF ({error})", where=str(path)) from None


def import_gguf() -> ModuleType:
    """Import the optional package `gguf`.

    Raises:
        ConfigError: the package is not installed.
    """
    try:
        import gguf
    except ImportError:
        raise ConfigError(
            "the package gguf, which has the quantizations, is not installed",
            key="pretrained",
            remedy="Run: pip install gguf",
        ) from None
    return gguf


class _HeaderReader:
    """A sequential reader of a header."""

    def __init__(self, content: mmap.mmap, where: str):
        self.content = content
        self.where = where
        self.offset = 0

    def header(self) -> Header:
        if self._take(4) != _MAGIC:
            raise CheckpointError("no GGUF file", where=self.where, expected="a file that starts with GGUF")
        if (version := self._scalar(4)) not in _VERSIONS:
            raise CheckpointError(
                "another version of GGUF, or of another byte order",
                where=self.where,
                expected=" or ".join(map(str, _VERSIONS)),
                received=str(version),
            )
        num_tensors, num_values = self._scalar(_COUNT), self._scalar(_COUNT)
        metadata: dict[str, Any] = {}
        for _ in range(num_values):  # each value takes bytes, so a count that is too high ends with the file
            name = self._string()
            if name in metadata:
                raise self._damaged(name, "every key once", "it again")
            metadata[name] = self._value(self._scalar(4))
        described: dict[str, tuple[list[int], int, int]] = {}
        for _ in range(num_tensors):
            name, *description = self._description()
            if name in described:
                raise self._damaged(f"tensor {name}", "every name once", "it again")
            described[name] = description
        alignment = metadata.get("general.alignment", 32)
        if type(alignment) is not int or alignment < 1:
            raise self._damaged("general.alignment", "a number above 0", alignment)
        start = -(-self.offset // alignment) * alignment
        tensors = {}
        for name, (axes, quantization, offset) in described.items():
            if offset % alignment:
                raise self._damaged(f"tensor {name}", f"an offset that is a multiple of {alignment}", offset)
            tensors[name] = self._tensor(name, start, axes, quantization, offset)
        by_start = sorted(tensors.items(), key=lambda item: item[1].start)
        for (name, tensor), (other, following) in itertools.pairwise(by_start):
            if tensor.start + tensor.size > following.start:
                raise self._damaged(f"tensor {other}", f"a first byte after the bytes of {name}", "bytes of both")
        return Header(metadata, tensors)

    def _description(self) -> tuple[str, list[int], int, int]:
        name, num_axes = self._string(), self._scalar(4)
        if num_axes > _MAX_AXES:
            raise self._damaged(f"tensor {name}", f"at most {_MAX_AXES} axes", num_axes)
        axes = [self._scalar(_COUNT) for _ in range(num_axes)]
        return name, axes, self._scalar(4), self._scalar(_COUNT)

    def _tensor(self, name: str, start: int, axes: list[int], quantization: int, offset: int) -> StoredTensor:
        sizes = import_gguf().GGML_QUANT_SIZES
        if quantization not in sizes:
            raise CheckpointError(
                "an unknown quantization",
                where=f"{self.where}: {name}",
                expected="a quantization of the installed package gguf",
                received=str(quantization),
                remedy="Install a newer gguf, or use the model in another quantization, such as Q8_0.",
            )
        per_block, bytes_of_block = sizes[quantization]
        if not axes or min(axes) < 1 or axes[0] % per_block:
            raise self._damaged(f"tensor {name}", f"rows of one or more blocks of {per_block} values", axes)
        size = math.prod(axes) // per_block * bytes_of_block
        if start + offset + size > len(self.content):
            raise CheckpointError(
                "the file is shorter than its tensors",
                where=f"{self.where}: {name}",
                expected=f"{start + offset + size:,} bytes",
                received=f"{len(self.content):,}",
                remedy="Download it again.",
            )
        return StoredTensor(quantization, tuple(reversed(axes)), start + offset, size)

    def _value(self, kind: int) -> Any:
        if kind == _STRING:
            return self._string()
        if kind == _ARRAY:
            return self._array(self._scalar(4), self._scalar(_COUNT))
        return self._scalar(kind)

    def _array(self, kind: int, count: int) -> Any:
        if kind == _STRING:
            self._require(8 * count)  # the length of each
            return [self._string() for _ in range(count)]
        if kind not in _SCALARS:
            raise self._damaged("an array", "numbers or strings", f"the kind {kind}")
        return np.frombuffer(self._take(struct.calcsize(_SCALARS[kind]) * count), f"<{_SCALARS[kind]}")

    def _scalar(self, kind: int) -> Any:
        if kind not in _SCALARS:
            raise self._damaged("a value", "a kind of value of GGUF", kind)
        letter = "<" + _SCALARS[kind]
        (value,) = struct.unpack(letter, self._take(struct.calcsize(letter)))
        # The shortest decimal of this float32: 1e-05 and not 9.999999747378752e-06.
        return float(str(np.float32(value))) if kind == 6 else value

    def _string(self) -> str:
        return self._take(self._scalar(_COUNT)).decode("utf-8")

    def _take(self, size: int) -> bytes:
        self._require(size)
        self.offset += size
        return self.content[self.offset - size : self.offset]

    def _require(self, size: int) -> None:
        if size > len(self.content) - self.offset:
            raise CheckpointError(
                "the file ends within its header",
                where=self.where,
                expected=f"{size:,} bytes from {self.offset:,} on",
                received=f"a file of {len(self.content):,}",
                remedy="Download it again.",
            )

    def _damaged(self, what: str, expected: str, received: Any) -> CheckpointError:
        return CheckpointError(
            "the header is damaged", where=f"{self.where}: {what}", expected=expected, received=str(received)[:60]
        )
