"""Files compressed with gzip or bzip2, which are decompressed as they are read."""

import bz2
import gzip
import io
import zlib
from dataclasses import dataclass
from os import stat_result
from pathlib import Path
from typing import Any, BinaryIO

from tfattn.errors import DataError
from tfattn.files.remote import RemotePath, path_of

_OPEN = {".gz": gzip.open, ".bz2": bz2.open}
_READ_BYTES = 1 << 20
# Texts are 3 to 20 times as large as when compressed; many repeated rows about 130 times.
MAX_RATIO, RATIO_FROM = 200, 16 << 20  # RATIO_FROM: the number of bytes up to which any ratio is allowed


@dataclass(frozen=True)
class CompressedPath:
    """A compressed file with the methods of `pathlib.Path` that reading needs.

    Args:
        file: the compressed file, with suffix .gz or .bz2.

    Raises, when it is read:
        OSError: there is no such file.
        DataError: the file is damaged or truncated, with the position; or the content is far larger than the file.
    """

    file: Path | RemotePath

    def __str__(self) -> str:
        return str(self.file)

    @property
    def suffix(self) -> str:
        """The suffix of the decompressed file."""
        return Path(str(self.file)).with_suffix("").suffix

    def is_absolute(self) -> bool:
        """Return whether the path is absolute."""
        return self.file.is_absolute()

    def stat(self) -> stat_result | Any:
        """Return the status of the compressed file."""
        return self.file.stat()

    def open(self, mode: str) -> BinaryIO:
        """Open the file for reading decompressed bytes."""
        assert mode == "rb", "compressed files are read"
        return io.BufferedReader(_DecompressedBytes(self.file), _READ_BYTES)


def unpacked(text: str | Path | RemotePath) -> Path | RemotePath | CompressedPath:
    """Return a path that is decompressed when it is read, if its suffix is that of a compressed file."""
    path = path_of(text)
    return CompressedPath(path) if path.suffix.lower() in _OPEN else path


class _DecompressedBytes(io.RawIOBase):
    def __init__(self, path: Path | RemotePath):
        self._path = path
        self._compressed = path.open("rb")
        self._file = _OPEN[path.suffix.lower()](self._compressed)
        self._limit = max(RATIO_FROM, MAX_RATIO * path.stat().st_size)
        self._count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:
        try:
            data = self._file.read(len(buffer))
        except (EOFError, OSError, zlib.error) as error:
            if getattr(error, "errno", None):  # an error of the disk
                raise
            raise DataError(
                "the compressed file is damaged",
                where=f"{self._path}, after {self._file.tell():,} decompressed bytes",
                received=str(error),
                remedy="Download it again.",
            ) from None
        self._count += len(data)
        if self._count > self._limit:
            raise DataError(
                "the content of the compressed file is far larger than the file",
                where=str(self._path),
                expected=f"at most {self._limit:,} bytes",
                received="more",
                remedy="If the content is right, decompress the file, and name the decompressed file.",
            )
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
            self._compressed.close()
        super().close()
