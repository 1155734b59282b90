"""Streaming of the files of an archive, without unpacking."""

import tarfile
import zipfile
from collections.abc import Iterator

from tfattn.data.sources.image_files import too_large
from tfattn.errors import DataError
from tfattn.files import AnyPath
from tfattn.formats.images import MAX_BYTES
from tfattn.formats.text_files import check_is_file

_TAR = (".tar", ".tar.gz", ".tar.bz2", ".tgz", ".tbz2")


def is_archive(path: str) -> bool:
    """Return whether a file name has the suffix of a supported archive."""
    return path.lower().endswith((*_TAR, ".zip"))


def entries(path: AnyPath) -> Iterator[tuple[str, bytes | DataError]]:
    """Yield the name and the contents of each file of an archive, or the error of reading it.

    Args:
        path: path of the archive, which may be compressed.

    Raises:
        DataError: the archive is missing, invalid or damaged.
    """
    check_is_file(path)
    read = _zipped if str(path).lower().endswith(".zip") else _in_tar
    try:
        yield from read(path)
    except (
        tarfile.TarError,
        zipfile.BadZipFile,
        EOFError,
        OSError,
        RuntimeError,
    ) as error:  # RuntimeError: a password is required
        raise DataError(
            f"the archive cannot be read ({error})", where=str(path), remedy="Fetch it again, or unpack it."
        ) from None


def _in_tar(path: AnyPath) -> Iterator[tuple[str, bytes | DataError]]:
    with path.open("rb") as file, tarfile.open(fileobj=file, mode="r|*") as archive:
        for entry in archive:
            archive.members = []  # tarfile would keep an entry per file
            if entry.isfile():
                where = f"{path}/{entry.name}"
                is_large = entry.size > MAX_BYTES
                yield entry.name, too_large(where, entry.size) if is_large else archive.extractfile(entry).read()


def _zipped(path: AnyPath) -> Iterator[tuple[str, bytes | DataError]]:
    with path.open("rb") as file, zipfile.ZipFile(file) as archive:
        for entry in archive.infolist():
            if not entry.is_dir():
                where = f"{path}/{entry.filename}"
                is_large = entry.file_size > MAX_BYTES
                yield entry.filename, too_large(where, entry.file_size) if is_large else archive.read(entry)
