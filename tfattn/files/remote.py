"""Remote files, such as gs://bucket/rows.csv, which are read like local files and uploaded atomically.

TensorFlow accesses them: gs:// by itself, s3:// and hdfs:// with tensorflow-io, ram:// in this process. It is imported
when the first remote file is accessed.
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
    """A file or folder at an address, with methods of `pathlib.Path`, and `upload`.

    Args:
        address: the address with its scheme.

    Raises, when it is accessed:
        OSError: the file does not exist, is not readable or writable, or TensorFlow does not support the scheme.

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
        """The part after the last slash."""
        return PurePosixPath(self.address).name

    @property
    def suffix(self) -> str:
        """The part of the name from the last dot."""
        return PurePosixPath(self.address).suffix

    def is_absolute(self) -> bool:
        """Return True: addresses are absolute."""
        return True

    def absolute(self) -> "RemotePath":
        """Return the same path: addresses are absolute."""
        return self

    def stat(self) -> SimpleNamespace:
        """Return `st_mode`, of a regular file or a folder, and `st_size` in bytes."""
        import tensorflow as tf

        with _os_errors(self.address):
            found = tf.io.gfile.stat(self.address)
        return SimpleNamespace(st_mode=stat.S_IFDIR if found.is_directory else stat.S_IFREG, st_size=found.length)

    def exists(self) -> bool:
        """Return whether the file or folder exists."""
        import tensorflow as tf

        with _os_errors(self.address):
            return tf.io.gfile.exists(self.address)

    def iterdir(self) -> Iterator["RemotePath"]:
        """Iterate over the content of the folder, in arbitrary order."""
        import tensorflow as tf

        with _os_errors(self.address):
            names = tf.io.gfile.listdir(self.address)
        return (self / name.rstrip("/") for name in names)

    def open(self, mode: str) -> BinaryIO:
        """Open the file for reading; it is seekable."""
        assert mode == "rb", "remote files are read"
        return open_range(self.address, 0, None)

    def read_bytes(self) -> bytes:
        """Read the whole file."""
        with self.open("rb") as file:
            return file.read()

    def mkdir(self, *, parents: bool, exist_ok: bool) -> None:
        """Create the folder and its parents, in a store that has folders."""
        assert parents and exist_ok, "object stores support no other options"
        import tensorflow as tf

        with _os_errors(self.address):
            tf.io.gfile.makedirs(self.address)

    def touch(self) -> None:
        """Create an empty file."""
        import tensorflow as tf

        with _os_errors(self.address), tf.io.gfile.GFile(self.address, "wb") as file:
            file.write(b"")

    def unlink(self) -> None:
        """Remove the file."""
        import tensorflow as tf

        with _os_errors(self.address):
            tf.io.gfile.remove(self.address)

    def rmtree(self) -> None:
        """Remove the folder and its content."""
        import tensorflow as tf

        with _os_errors(self.address):
            tf.io.gfile.rmtree(self.address)

    def upload(self, file: Path) -> None:
        """Upload a local file atomically."""
        import tensorflow as tf

        # Some stores show incomplete files, but renaming is atomic in all stores.
        folder, _, name = self.address.rpartition("/")
        hidden = f"{folder}/.{name}.{secrets.token_hex(8)}"
        with _os_errors(self.address):
            tf.io.gfile.copy(str(file), hidden)
            tf.io.gfile.rename(hidden, self.address, overwrite=True)


def path_of(text: str | Path | RemotePath) -> Path | RemotePath:
    """Return a RemotePath for an address, or a Path.

    Example:
        >>> path_of("gs://bucket/rows.csv")
        RemotePath(address='gs://bucket/rows.csv')
    """
    if isinstance(text, RemotePath):
        return text
    return RemotePath(text) if isinstance(text, str) and _ADDRESS.match(text) else Path(text)


def matching(pattern: str) -> list[str]:
    """List the files that match a pattern, sorted; a pattern without wildcards matches itself, also if it is missing.

    Raises:
        OSError: TensorFlow does not support the scheme of the address.
    """
    if not glob.has_magic(pattern):
        return [pattern]
    if not _ADDRESS.match(pattern):
        return sorted(glob.glob(pattern, recursive=True))
    import tensorflow as tf

    with _os_errors(pattern):
        return sorted(tf.io.gfile.glob(pattern))


def open_range(address: str, start: int, size: int | None) -> BinaryIO:
    """Open a range of bytes of a remote file, up to the end of the file if `size` is None."""
    return io.BufferedReader(_RemoteBytes(address, start, size), _READ_BYTES)


class _RemoteBytes(io.RawIOBase):
    """A range of a TensorFlow file as a Python file."""

    def __init__(self, address: str, start: int, size: int | None):
        import tensorflow as tf

        self._address = address
        self._file = tf.io.gfile.GFile(address, "rb")
        with _os_errors(address):
            total = self._file.size()  # opens the file, so that errors are raised here and not when it is read
        self._start, self._size = start, max(total - start, 0) if size is None else size
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
            self._file.seek(self._start + origin + offset)
        return self.tell()

    def tell(self) -> int:
        return self._file.tell() - self._start

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


@contextlib.contextmanager
def _os_errors(address: str) -> Iterator[None]:
    """Convert TensorFlow's file errors into OSError."""
    import tensorflow as tf

    try:
        yield
    except tf.errors.OpError as error:
        if isinstance(error, tf.errors.UnimplementedError):
            scheme = address.partition(":")[0]
            what = f"TensorFlow does not support {scheme}:// here; tensorflow-io adds s3:// and hdfs://"
            raise OSError(errno.EPROTONOSUPPORT, what, address) from None
        number = {tf.errors.NotFoundError: errno.ENOENT, tf.errors.PermissionDeniedError: errno.EACCES}.get(type(error))
        what = os.strerror(number) if number else error.message
        raise OSError(number or errno.EIO, what, address) from None
