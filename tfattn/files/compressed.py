"""Files compressed by gzip or bzip2, read as what they hold."""

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
# Rows of text are 3 to 20 times as large as when compressed, the same rows again and again some 130 times.
MAX_RATIO, RATIO_FROM = 200, 16 << 20  # RATIO_FROM: bytes up to which any ratio is read


@dataclass(frozen=True)
class CompressedPath:
    """A compressed file, as far as reading needs it: what it has, `pathlib.Path` has too.

    Args:
        file: as it stands on the disk, its suffix .gz or .bz2.

    Raises, as it is read:
        OSError: there is no such file.
        DataError: it is damaged, or ends too soon; says behind which byte of what it holds; or that is
            far more than its size.
    """

    file: Path | RemotePath

    def __str__(self) -> str:
        return str(self.file)

    @property
    def suffix(self) -> str:
        """The suffix of what it holds."""
        return Path(str(self.file)).with_suffix("").suffix

    def is_absolute(self) -> bool:
        """Whether it counts from no folder."""
        return self.file.is_absolute()

    def stat(self) -> stat_result | Any:
        """Look at the compressed file."""
        return self.file.stat()

    def open(self, mode: str) -> BinaryIO:
        """Open it to read what it holds."""
        assert mode == "rb", "compressed files are read"
        return io.BufferedReader(_UnpackedBytes(self.file), _READ_BYTES)


def unpacked(text: str | Path | RemotePath) -> Path | RemotePath | CompressedPath:
    """Return a path that is read as what the file holds, whether it is compressed or not."""
    path = path_of(text)
    return CompressedPath(path) if path.suffix.lower() in _OPEN else path


class _UnpackedBytes(io.RawIOBase):
    def __init__(self, path: Path | RemotePath):
        self._path = path
        self._packed = path.open("rb")
        self._file = _OPEN[path.suffix.lower()](self._packed)
        self._most = max(RATIO_FROM, MAX_RATIO * path.stat().st_size)
        self._count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:
        try:
            data = self._file.read(len(buffer))
        except (EOFError, OSError, zlib.error) as error:
            if getattr(error, "errno", None):  # of the disk
                raise
            raise DataError(
                "the compressed file is damaged",
                where=f"{self._path}, behind {self._file.tell():,} bytes of what it holds",
                received=str(error),
                remedy="Fetch it again.",
            ) from None
        self._count += len(data)
        if self._count > self._most:
            raise DataError(
                "the compressed file holds far more than its size",
                where=str(self._path),
                expected=f"at most {self._most:,} bytes",
                received="more",
                remedy="If it is what it should be, unpack it, and name the file inside.",
            )
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
            self._packed.close()
        super().close()
