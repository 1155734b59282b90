"""The files of an archive, read where they are: one after the other, and none but the current one in memory."""

import tarfile
import zipfile
from collections.abc import Iterator

from tfattn.data.image_files import too_large
from tfattn.errors import DataError
from tfattn.files import AnyPath
from tfattn.formats.images import LARGEST
from tfattn.formats.text_files import check_is_file

_TAR = (".tar", ".tar.gz", ".tar.bz2", ".tgz", ".tbz2")


def is_archive(path: str) -> bool:
    """Tell by its name whether a file is an archive that can be read."""
    return path.lower().endswith((*_TAR, ".zip"))


def entries(path: AnyPath) -> Iterator[tuple[str, bytes | DataError]]:
    """Yield the name of each file of an archive, and what it holds, or why that cannot be read.

    Args:
        path: of the archive; one that is compressed as what it holds.

    Raises:
        DataError: it is missing, no archive, or damaged.
    """
    check_is_file(path)
    read = _zipped if str(path).lower().endswith(".zip") else _in_tar
    try:
        yield from read(path)
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError, RuntimeError) as error:  # of passwords the last
        raise DataError(
            f"the archive cannot be read ({error})", where=str(path), remedy="Fetch it again, or unpack it."
        ) from None


def _in_tar(path: AnyPath) -> Iterator[tuple[str, bytes | DataError]]:
    with path.open("rb") as file, tarfile.open(fileobj=file, mode="r|*") as archive:
        for entry in archive:
            archive.members = []  # which would grow to the names of all
            if entry.isfile():
                where = f"{path}/{entry.name}"
                is_large = entry.size > LARGEST
                yield entry.name, too_large(where, entry.size) if is_large else archive.extractfile(entry).read()


def _zipped(path: AnyPath) -> Iterator[tuple[str, bytes | DataError]]:
    with path.open("rb") as file, zipfile.ZipFile(file) as archive:
        for entry in archive.infolist():
            if not entry.is_dir():
                where = f"{path}/{entry.filename}"
                is_large = entry.file_size > LARGEST
                yield entry.filename, too_large(where, entry.file_size) if is_large else archive.read(entry)
