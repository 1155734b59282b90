"""Folders packed into a single file, for object stores, which have no folders and are slow for small files.

The file is uploaded atomically, unlike a folder. It starts with an index, so that each file can be read separately:

    8 bytes      the length of the index
    the index    JSON: by path in the folder, the offset of a file after the index, and its size
    the files    concatenated
"""

import errno
import json
import os
import shutil
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from tfattn.files.remote import RemotePath, open_range

_LENGTH = struct.Struct("<Q")


def pack(folder: Path, target: Path) -> None:
    """Write all files of a folder into a single file."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    index, offset = {}, 0
    for path in paths:
        size = path.stat().st_size
        index[path.relative_to(folder).as_posix()] = [offset, size]
        offset += size
    text = json.dumps(index).encode()
    with open(target, "wb") as archive:
        archive.write(_LENGTH.pack(len(text)) + text)
        for path in paths:
            with open(path, "rb") as file:
                shutil.copyfileobj(file, archive)


@dataclass(frozen=True)
class PackedPath:
    """A file or folder in a packed folder, with the methods of `pathlib.Path` that reading needs.

    Args:
        archive: the packed folder.
        spans: the offset in the archive and the size in bytes of each file, by path in the folder.
        inner: the path in the folder; "" is the folder itself.

    Raises, when it is read:
        OSError: there is no such file, or the archive cannot be read.
    """

    archive: RemotePath
    spans: dict[str, tuple[int, int]] = field(repr=False, compare=False)
    inner: str = ""

    @staticmethod
    def of(archive: RemotePath) -> "PackedPath":
        """Read the index of a packed folder.

        Raises:
            OSError: the archive is missing or cannot be read.
            ValueError: the archive is damaged.
        """
        with archive.open("rb") as file:
            start = file.read(_LENGTH.size)
            if len(start) < _LENGTH.size:
                raise ValueError(f"{archive} is truncated")
            [length] = _LENGTH.unpack(start)
            index = json.loads(file.read(length))
        header = _LENGTH.size + length
        return PackedPath(archive, {name: (header + offset, size) for name, (offset, size) in index.items()})

    def __str__(self) -> str:
        return f"{self.archive}/{self.inner}" if self.inner else str(self.archive)

    def __truediv__(self, name: str) -> "PackedPath":
        return PackedPath(self.archive, self.spans, f"{self.inner}/{name}" if self.inner else name)

    def open(self, mode: str) -> BinaryIO:
        """Open the file for reading; it is seekable."""
        assert mode == "rb", "packed files are read"
        if self.inner not in self.spans:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self))
        return open_range(str(self.archive), *self.spans[self.inner])

    def read_bytes(self) -> bytes:
        """Read the whole file."""
        with self.open("rb") as file:
            return file.read()

    def unpack(self, target: Path) -> None:
        """Write the files of this folder into a local folder."""
        prefix = f"{self.inner}/" if self.inner else ""
        for name in self.spans:
            if name.startswith(prefix):
                path = target / name.removeprefix(prefix)
                path.parent.mkdir(parents=True, exist_ok=True)
                with PackedPath(self.archive, self.spans, name).open("rb") as file, open(path, "wb") as copy:
                    shutil.copyfileobj(file, copy)
