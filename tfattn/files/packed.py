"""Folders packed into one file: for stores that know no folders, and are slow where files are small.

Such a file appears at once, as a folder there cannot. In front stands an index, so that any file of the folder, or a
range of it, can be read alone:

    8 bytes      the length of the index
    the index    JSON: by the path in the folder, where a file begins behind the index, and its size
    the files    one behind the other
"""

import errno
import json
import os
import shutil
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from tfattn.files.remote import RemotePath, opened_range

_LENGTH = struct.Struct("<Q")


def pack(folder: Path, target: Path) -> None:
    """Write all files of a folder as one."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    index, begin = {}, 0
    for path in paths:
        size = path.stat().st_size
        index[path.relative_to(folder).as_posix()] = [begin, size]
        begin += size
    text = json.dumps(index).encode()
    with open(target, "wb") as whole:
        whole.write(_LENGTH.pack(len(text)) + text)
        for path in paths:
            with open(path, "rb") as file:
                shutil.copyfileobj(file, whole)


@dataclass(frozen=True)
class PackedPath:
    """A file or folder within a packed folder, as far as reading needs it: what it has, `pathlib.Path` has too.

    Args:
        archive: the packed folder.
        spans: by the path in the folder, where the file begins in the archive, and its size in bytes.
        inner: the path in the folder; "" is the folder itself.

    Raises, as it is read:
        OSError: there is no such file, or the archive cannot be read.
    """

    archive: RemotePath
    spans: dict[str, tuple[int, int]] = field(repr=False, compare=False)
    inner: str = ""

    @staticmethod
    def of(archive: RemotePath) -> "PackedPath":
        """Read the index of a packed folder.

        Raises:
            OSError: there is none, or it cannot be read.
            ValueError: it is damaged.
        """
        with archive.open("rb") as file:
            start = file.read(_LENGTH.size)
            if len(start) < _LENGTH.size:
                raise ValueError(f"{archive} ends too soon")
            [length] = _LENGTH.unpack(start)
            index = json.loads(file.read(length))
        behind = _LENGTH.size + length
        return PackedPath(archive, {name: (behind + begin, size) for name, (begin, size) in index.items()})

    def __str__(self) -> str:
        return f"{self.archive}/{self.inner}" if self.inner else str(self.archive)

    def __truediv__(self, name: str) -> "PackedPath":
        return PackedPath(self.archive, self.spans, f"{self.inner}/{name}" if self.inner else name)

    def open(self, mode: str) -> BinaryIO:
        """Open the file to read its bytes, from its begin or from any place."""
        assert mode == "rb", "packed files are read"
        if self.inner not in self.spans:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self))
        return opened_range(str(self.archive), *self.spans[self.inner])

    def read_bytes(self) -> bytes:
        """Read the whole file."""
        with self.open("rb") as file:
            return file.read()

    def unpack(self, target: Path) -> None:
        """Write the files of this folder into one of this machine."""
        inside = f"{self.inner}/" if self.inner else ""
        for name in self.spans:
            if name.startswith(inside):
                path = target / name.removeprefix(inside)
                path.parent.mkdir(parents=True, exist_ok=True)
                with PackedPath(self.archive, self.spans, name).open("rb") as file, open(path, "wb") as copy:
                    shutil.copyfileobj(file, copy)
