"""Files at an address, such as gs://bucket/rows.csv, read as those of this machine are.

TensorFlow reaches them: gs:// by itself, s3:// and hdfs:// with what tensorflow-io registers, ram:// in this process.
It is loaded when the first of them is read.
"""

import contextlib
import errno
import glob
import io
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import BinaryIO

_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_READ_BYTES = 1 << 20


@dataclass(frozen=True)
class RemotePath:
    """A file at an address, as far as reading needs it: what it has, `pathlib.Path` has too.

    Args:
        address: the scheme and all behind it.

    Raises, by all that look at the file:
        OSError: there is none, it may not be read, or TensorFlow does not know the scheme.

    Example:
        with RemotePath("gs://bucket/rows.csv").open("rb") as file:
            print(file.readline())
    """

    address: str

    def __str__(self) -> str:
        return self.address

    @property
    def suffix(self) -> str:
        """What stands behind the last dot of its name, with the dot."""
        return PurePosixPath(self.address).suffix

    def is_absolute(self) -> bool:
        """Whether it counts from no folder: always."""
        return True

    def stat(self) -> SimpleNamespace:
        """Look at the file: `st_mode`, that of a regular file or of a folder, and `st_size` in bytes."""
        import tensorflow as tf

        with _os_errors(self.address):
            found = tf.io.gfile.stat(self.address)
        return SimpleNamespace(st_mode=stat.S_IFDIR if found.is_directory else stat.S_IFREG, st_size=found.length)

    def open(self, mode: str) -> BinaryIO:
        """Open the file to read its bytes, from its begin or from any place."""
        assert mode == "rb", "remote files are read"
        return io.BufferedReader(_RemoteBytes(self.address), _READ_BYTES)


def path_of(text: str | Path | RemotePath) -> Path | RemotePath:
    """Tells an address from a path of this machine.

    Example:
        >>> path_of("gs://bucket/rows.csv")
        RemotePath(address='gs://bucket/rows.csv')
    """
    if isinstance(text, RemotePath):
        return text
    return RemotePath(text) if isinstance(text, str) and _ADDRESS.match(text) else Path(text)


def matching(pattern: str) -> list[str]:
    """List the files that a pattern names, in order; one without wildcards is itself, whether it is there or not.

    Raises:
        OSError: it is an address that TensorFlow does not know.
    """
    if not glob.has_magic(pattern):
        return [pattern]
    if not _ADDRESS.match(pattern):
        return sorted(glob.glob(pattern, recursive=True))
    import tensorflow as tf

    with _os_errors(pattern):
        return sorted(tf.io.gfile.glob(pattern))


class _RemoteBytes(io.RawIOBase):
    """TensorFlow's file as one of Python's."""

    def __init__(self, address: str):
        import tensorflow as tf

        self._address = address
        self._file = tf.io.gfile.GFile(address, "rb")
        with _os_errors(address):
            self._file.size()  # opens it: without this, what is wrong is told as late as it is read

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:
        with _os_errors(self._address):
            data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        with _os_errors(self._address):
            self._file.seek(offset, whence)
        return self._file.tell()

    def tell(self) -> int:
        return self._file.tell()

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


@contextlib.contextmanager
def _os_errors(address: str) -> Iterator[None]:
    """Raise TensorFlow's errors of files as Python's."""
    import tensorflow as tf

    try:
        yield
    except tf.errors.OpError as error:
        if isinstance(error, tf.errors.UnimplementedError):
            scheme = address.partition(":")[0]
            what = f"TensorFlow knows no file system {scheme}:// here; tensorflow-io brings s3:// and hdfs://"
            raise OSError(errno.EPROTONOSUPPORT, what, address) from None
        number = {tf.errors.NotFoundError: errno.ENOENT, tf.errors.PermissionDeniedError: errno.EACCES}.get(type(error))
        what = os.strerror(number) if number else error.message
        raise OSError(number or errno.EIO, what, address) from None
