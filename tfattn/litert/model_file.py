"""The content of a LiteRT file around its graph: the checks before it is opened, and its metadata.

A LiteRT file is a flatbuffer (TensorFlow's schema.fbs). This module reads and extends it with the standard library
alone, so that a reader of metadata needs no package.
"""

import hashlib
import json
import os
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tfattn.errors import ServingError

FOLDER = Path("assets.extra") / "litert"
PRECISIONS = ("int4", "int8", "float32")  # of weights, the smallest and fastest first; each passed the export's gate
IDENTIFIER = b"TFL3"
DESCRIPTION = "tfattn"  # the name of the metadata with the description, and the start of the names of files
DIGEST = 32  # bytes of a SHA-256
ALIGNMENT = 64
CUSTOM = 32  # the code of custom operations in BuiltinOperator
EXPORT_AGAIN = "Copy the file once more, or export the model again: `tfattn export PIPELINE --force`."

# The fields of the tables in the schema, by position.
VERSION, OPERATOR_CODES, SUBGRAPHS, BUFFERS, METADATA = 0, 1, 2, 4, 6
FIELDS = 8  # the fields of the root table, of 4 bytes each; all but the version point to a string or vector


@dataclass(frozen=True)
class ModelFile:
    """The description and the files in a LiteRT file.

    Attributes:
        description: what the model is; empty for a file of another program.
        files: the content of each file that is needed around the model, such as its vocabulary.
    """

    description: dict[str, Any] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)


def find(version: Path) -> Path | None:
    """Return the LiteRT file of a version, or None; of several precisions the smallest."""
    paths = {path.stem.rpartition("_")[2]: path for path in sorted((version / FOLDER).glob("*.tflite"))}
    return next((paths[precision] for precision in PRECISIONS if precision in paths), None)


def add_metadata(content: bytes, description: Mapping[str, Any], files: Mapping[str, bytes]) -> bytes:
    """Add a description and files to the content of a LiteRT file.

    The new tables are in front of the old content, because the offsets of a flatbuffer only point forward. The
    description starts with the SHA-256 of the whole file, computed with zeros in its place.

    Args:
        content: the content of a LiteRT file.
        description: any JSON object.
        files: name to content.

    Example:
        >>> parse(add_metadata(content, {"task": "classification"}, {"labels.txt": b"spam"})).files
        {'labels.txt': b'spam'}
    """
    text = json.dumps(dict(description), ensure_ascii=False).encode()
    entries = {DESCRIPTION: bytes(DIGEST) + text, **{f"{DESCRIPTION}/{name}": data for name, data in files.items()}}
    extended = bytearray(_prepend(content, entries))
    _, positions = _entries(extended)
    start = positions[DESCRIPTION]
    extended[start : start + DIGEST] = hashlib.sha256(extended).digest()
    return bytes(extended)


def read(path: str | Path) -> ModelFile:
    """Check a LiteRT file and read its metadata.

    Raises:
        ServingError: the file is missing, truncated, damaged, not a LiteRT file, larger than the memory, or has
            operations that are not of LiteRT.
    """
    path = Path(path)
    try:
        size = path.stat().st_size
    except OSError as error:
        raise ServingError("there is no LiteRT file", where=str(path), received=error.strerror or "") from None
    if size > (available := _available_memory()):
        raise ServingError(
            "the LiteRT file is larger than the available memory",
            where=str(path),
            expected=f"at most {available:,} bytes",
            received=f"{size:,} bytes",
            remedy="Export with a smaller `export.litert_precision`, or use a machine with more memory.",
        )
    return parse(path.read_bytes(), where=str(path))


def parse(content: bytes, *, where: str = "") -> ModelFile:
    """Check the content of a LiteRT file and read its metadata; see `read`."""
    if content[4:8] != IDENTIFIER:
        raise ServingError(
            "the file is not a LiteRT model",
            where=where,
            expected=f"a flatbuffer with the identifier {IDENTIFIER.decode()}",
            received=repr(content[4:8]) if len(content) >= 8 else f"{len(content)} bytes",
            remedy=EXPORT_AGAIN,
        )
    try:
        _check_operations(_Table(content, _offset(content, 0)), where)
        entries, positions = _entries(content)
    except (struct.error, IndexError, ValueError):
        raise _damaged(where, "offsets that point inside the file", f"{len(content):,} bytes") from None
    if DESCRIPTION not in entries:
        return ModelFile()
    start, view = positions[DESCRIPTION], memoryview(content)
    digest = hashlib.sha256(view[:start])
    digest.update(bytes(DIGEST))
    digest.update(view[start + DIGEST :])
    checksum, text = entries[DESCRIPTION][:DIGEST], entries[DESCRIPTION][DIGEST:]
    if digest.digest() != checksum:
        raise _damaged(where, f"the SHA-256 {checksum.hex()[:12]}...", f"{digest.hexdigest()[:12]}...")
    try:
        description = dict(json.loads(text))
    except (ValueError, TypeError):
        raise _damaged(where, "a description in JSON", repr(text[:40])) from None
    prefix = f"{DESCRIPTION}/"
    files = {name.removeprefix(prefix): data for name, data in entries.items() if name.startswith(prefix)}
    return ModelFile(description, files)


def _entries(content: bytes) -> tuple[dict[str, bytes], dict[str, int]]:
    """Return the content and the position of each entry of the metadata; later entries replace earlier ones."""
    model = _Table(content, _offset(content, 0))
    list(model.tables(SUBGRAPHS))
    buffers = model.positions(BUFFERS)
    entries, positions = {}, {}
    for entry in model.tables(METADATA):
        buffer = _Table(content, buffers[entry.number(1)])
        name = entry.text(0)
        entries[name], positions[name] = buffer.data(0), (buffer.target(0) or 0) + 4
    return entries, positions


def _damaged(where: str, expected: str, received: str) -> ServingError:
    return ServingError(
        "the LiteRT file is truncated or damaged",
        where=where,
        expected=expected,
        received=received,
        remedy=EXPORT_AGAIN,
    )


def _check_operations(model: "_Table", where: str) -> None:
    names = []
    for code in model.tables(OPERATOR_CODES):
        builtin = max(code.number(0, "<b"), code.number(3, "<i"))
        if builtin == CUSTOM:
            names.append(code.text(1) or "without a name")
    if names:
        raise ServingError(
            "the LiteRT file has operations that are not part of LiteRT",
            where=where,
            expected="built-in operations",
            received=", ".join(sorted(names)),
            remedy="Convert the model without TensorFlow's operations (SELECT_TF_OPS) and custom operations.",
        )


def _available_memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


class _Table:
    """A table of a flatbuffer.

    Args:
        content: the file.
        start: the position of the table.
    """

    def __init__(self, content: bytes, start: int):
        self._content, self._start = content, start
        self._vtable = start - struct.unpack_from("<i", content, start)[0]
        if not 0 <= self._vtable < len(content):
            raise IndexError(self._vtable)
        self._length = struct.unpack_from("<H", content, self._vtable)[0]

    def position(self, number: int) -> int | None:
        """Return the position of a field; None for its default value."""
        entry = 4 + 2 * number
        if entry >= self._length:
            return None
        within = struct.unpack_from("<H", self._content, self._vtable + entry)[0]
        return self._start + within if within else None

    def number(self, number: int, kind: str = "<I") -> int:
        """Return a number; 0 by default."""
        position = self.position(number)
        return 0 if position is None else struct.unpack_from(kind, self._content, position)[0]

    def target(self, number: int) -> int | None:
        """Return the position to which a field points."""
        position = self.position(number)
        return None if position is None else _offset(self._content, position)

    def data(self, number: int) -> bytes:
        """Return the bytes of a vector of bytes or a string; empty by default."""
        start = self.target(number)
        if start is None:
            return b""
        length = struct.unpack_from("<I", self._content, start)[0]
        if start + 4 + length > len(self._content):
            raise IndexError(start + length)
        return bytes(self._content[start + 4 : start + 4 + length])

    def text(self, number: int) -> str:
        """Return a string."""
        return self.data(number).decode("utf-8")

    def positions(self, number: int) -> list[int]:
        """Return the positions of the tables of a vector."""
        start = self.target(number)
        if start is None:
            return []
        count = struct.unpack_from("<I", self._content, start)[0]
        if start + 4 + 4 * count > len(self._content):
            raise IndexError(count)
        return [_offset(self._content, start + 4 + 4 * index) for index in range(count)]

    def tables(self, number: int) -> Iterator["_Table"]:
        """Yield the tables of a vector."""
        for position in self.positions(number):
            yield _Table(self._content, position)


def _offset(content: bytes, position: int) -> int:
    target = position + struct.unpack_from("<I", content, position)[0]
    if target + 4 > len(content):
        raise IndexError(target)
    return target


def _prepend(content: bytes, entries: Mapping[str, bytes]) -> bytes:
    """Return the content with a new root table in front, which has additional buffers and metadata."""
    model = _Table(content, _offset(content, 0))
    buffers, metadata = model.positions(BUFFERS), model.positions(METADATA)
    vtable = 8
    root = vtable + 4 + 2 * FIELDS  # the vtable has its size, the size of the table, and the position of each field
    at = root + 4 + 4 * FIELDS
    new_buffers, at = at, at + 4 + 4 * (len(buffers) + len(entries))
    new_metadata, at = at, at + 4 + 4 * (len(metadata) + len(entries))
    parts, tables = [], []
    for number, (name, data) in enumerate(entries.items()):
        packed, inner = _entry(name, data, len(buffers) + number, at)
        parts.append(packed)
        tables.append([at + position for position in inner])
        at += len(packed)
    shift = (at - 8) + (8 - at) % ALIGNMENT  # of the old content: keeps the alignment of its weights
    head = bytearray(8 + shift)
    head[at - sum(map(len, parts)) : at] = b"".join(parts)

    targets = {number: target + shift for number in range(1, FIELDS) if (target := model.target(number)) is not None}
    targets |= {BUFFERS: new_buffers, METADATA: new_metadata}
    present = [4 + 4 * number if number in (VERSION, *targets) else 0 for number in range(FIELDS)]
    struct.pack_into("<I4s", head, 0, root, IDENTIFIER)
    struct.pack_into(f"<HH{FIELDS}H", head, vtable, 4 + 2 * FIELDS, 4 + 4 * FIELDS, *present)
    struct.pack_into("<iI", head, root, root - vtable, model.number(VERSION))
    for number, target in targets.items():
        position = root + 4 + 4 * number
        struct.pack_into("<I", head, position, target - position)
    for start, old, index in ((new_buffers, buffers, 0), (new_metadata, metadata, 1)):
        vector = [*(position + shift for position in old), *(inner[index] for inner in tables)]
        struct.pack_into("<I", head, start, len(vector))
        for position, target in enumerate(vector, start=1):
            struct.pack_into("<I", head, start + 4 * position, target - start - 4 * position)
    return bytes(head) + content[8:]


def _entry(name: str, data: bytes, number: int, start: int) -> tuple[bytes, tuple[int, int]]:
    """Return a Buffer and a Metadata table with their content, and the positions of both tables in it.

    Args:
        name: the name of the metadata.
        data: its content.
        number: the index of the buffer.
        start: the position in the file, a multiple of 4.
    """
    encoded = name.encode()
    packed = bytearray()
    packed += struct.pack("<HHHH", 6, 8, 4, 0)  # vtable of the Buffer: its size, the table's size, the field `data`
    buffer = len(packed)
    packed += struct.pack("<iI", buffer, 0)
    packed += struct.pack("<HHHH", 8, 12, 4, 8)  # vtable of the Metadata: `name` and `buffer`
    entry = len(packed)
    packed += struct.pack("<iII", 8, 0, number)
    struct.pack_into("<I", packed, entry + 4, len(packed) - entry - 4)
    packed += struct.pack("<I", len(encoded)) + encoded + bytes(1)
    packed += bytes(-(start + len(packed) + 4) % 16)  # data are aligned to 16 bytes
    struct.pack_into("<I", packed, buffer + 4, len(packed) - buffer - 4)
    packed += struct.pack("<I", len(data)) + data
    packed += bytes(-(start + len(packed)) % 4)
    return bytes(packed), (buffer, entry)
