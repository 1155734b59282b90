"""Files at an address, such as gs://bucket/rows.csv, read as those of this machine are, and written whole.

TensorFlow reaches them: gs:// by itself, s3:// and hdfs:// with what tensorflow-io registers, ram:// in this process.
It is loaded when the first of them is read.
"""

import contextlib
import errno
import glob
import io
import os
import re
import secrets
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
    """A file or folder at an address: what it has, `pathlib.Path` has too, but `upload`.

    Args:
        address: the scheme and all behind it.

    Raises, by all that look at what stands there or change it:
        OSError: there is none, it may not be read or written, or TensorFlow does not know the scheme.

    Example:
        with RemotePath("gs://bucket/rows.csv").open("rb") as file:
            print(file.readline())
    """

    address: str

    def __str__(self) -> str:
        return self.address

    def __truediv__(self, name: str) -> "RemotePath":
        return RemotePath(f"{self.address.rstrip('/')}/{name}")

    @property
    def name(self) -> str:
        """What stands behind the last slash."""
        return PurePosixPath(self.address).name

    @property
    def suffix(self) -> str:
        """What stands behind the last dot of its name, with the dot."""
        return PurePosixPath(self.address).suffix

    def is_absolute(self) -> bool:
        """Whether it counts from no folder: always."""
        return True

    def absolute(self) -> "RemotePath":
        """Return itself: it counts from no folder."""
        return self

    def stat(self) -> SimpleNamespace:
        """Look at the file: `st_mode`, that of a regular file or of a folder, and `st_size` in bytes."""
        import tensorflow as tf

        with _os_errors(self.address):
            found = tf.io.gfile.stat(self.address)
        return SimpleNamespace(st_mode=stat.S_IFDIR if found.is_directory else stat.S_IFREG, st_size=found.length)

    def exists(self) -> bool:
        """Whether there is a file or folder."""
        import tensorflow as tf

        with _os_errors(self.address):
            return tf.io.gfile.exists(self.address)

    def iterdir(self) -> Iterator["RemotePath"]:
        """List what stands in the folder, in no order."""
        import tensorflow as tf

        with _os_errors(self.address):
            names = tf.io.gfile.listdir(self.address)
        return (self / name.rstrip("/") for name in names)

    def open(self, mode: str) -> BinaryIO:
        """Open the file to read its bytes, from its begin or from any place."""
        assert mode == "rb", "remote files are read"
        return opened_range(self.address, 0, None)

    def read_bytes(self) -> bytes:
        """Read the whole file."""
        with self.open("rb") as file:
            return file.read()

    def mkdir(self, *, parents: bool, exist_ok: bool) -> None:
        """Make the folder, where the store knows folders, with those above it."""
        assert parents and exist_ok, "stores without folders know nothing else"
        import tensorflow as tf

        with _os_errors(self.address):
            tf.io.gfile.makedirs(self.address)

    def touch(self) -> None:
        """Make an empty file."""
        import tensorflow as tf

        with _os_errors(self.address), tf.io.gfile.GFile(self.address, "wb") as file:
            file.write(b"")

    def unlink(self) -> None:
        """Remove the file."""
        import tensorflow as tf

        with _os_errors(self.address):
            tf.io.gfile.remove(self.address)

    def rmtree(self) -> None:
        """Remove the folder and all in it."""
        import tensorflow as tf

        with _os_errors(self.address):
            tf.io.gfile.rmtree(self.address)

    def upload(self, file: Path) -> None:
        """Copy a file of this machine to here; it appears whole or not at all."""
        import tensorflow as tf

        # Only some stores show a file first when it is whole; all of them rename one at once.
        folder, _, name = self.address.rpartition("/")
        hidden = f"{folder}/.{name}.{secrets.token_hex(8)}"
        with _os_errors(self.address):
            tf.io.gfile.copy(str(file), hidden)
            tf.io.gfile.rename(hidden, self.address, overwrite=True)


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


def opened_range(address: str, begin: int, size: int | None) -> BinaryIO:
    """Open some bytes of a file at an address, as if they were all; up to its end where `size` is None."""
    return io.BufferedReader(_RemoteBytes(address, begin, size), _READ_BYTES)


class _RemoteBytes(io.RawIOBase):
    """A range of TensorFlow's file as one of Python's."""

    def __init__(self, address: str, begin: int, size: int | None):
        import tensorflow as tf

        self._address = address
        self._file = tf.io.gfile.GFile(address, "rb")
        with _os_errors(address):
            whole = self._file.size()  # opens it: without this, what is wrong is told as late as it is read
        self._begin, self._size = begin, max(whole - begin, 0) if size is None else size
        self.seek(0)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:
        with _os_errors(self._address):
            data = self._file.read(min(len(buffer), max(self._size - self.tell(), 0)))
        buffer[: len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        origin = {os.SEEK_SET: 0, os.SEEK_CUR: self.tell(), os.SEEK_END: self._size}[whence]
        with _os_errors(self._address):
            self._file.seek(self._begin + origin + offset)
        return self.tell()

    def tell(self) -> int:
        return self._file.tell() - self._begin

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
