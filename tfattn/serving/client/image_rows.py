"""Images as inputs: a folder, a pattern or a file of them, or rows that name them."""

import glob
import os
from collections.abc import Iterator
from pathlib import Path

from tfattn.errors import DataError
from tfattn.formats.images import MAX_BYTES, SUFFIXES, check_image
from tfattn.serving.client.input_rows import InputRow

_ANY_SIDE = 2**31  # the model says itself what is too large for it


def named_by(path: str) -> list[str] | None:
    """List the images of a folder, of a pattern, or of an image's name, in order; None for a file of rows.

    Raises:
        DataError: there are none.
    """
    if os.path.isdir(path):
        found = sorted(
            str(file) for file in Path(path).rglob("*") if file.suffix.lower() in SUFFIXES and file.is_file()
        )
    elif glob.has_magic(path) and not os.path.exists(path):
        found = [file for file in sorted(glob.glob(path, recursive=True)) if os.path.isfile(file)]
    else:
        return [path] if Path(path).suffix.lower() in SUFFIXES else None
    if not found:
        raise DataError("there are no images", where=path, expected="files such as 1.jpg or 2.png", received="none")
    return found


def rows_of(paths: list[str], name: str) -> Iterator[InputRow]:
    """Make a row of each image; `name` is that of the input."""
    return (InputRow({name: path}, path) for path in paths)


def read(name: str, folder: Path, where: str) -> bytes:
    """Read an image that a row names.

    Args:
        name: of the file.
        folder: from which it counts.
        where: of the row, for messages.

    Raises:
        DataError: it cannot be read, or is none.
    """
    path = folder / name.strip()
    try:
        size = path.stat().st_size
        data = path.read_bytes() if size <= MAX_BYTES else b""
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) else str(error)
        raise DataError(
            f"cannot read the image ({said})", where=where, expected="the name of an image", received=repr(name)
        ) from None
    if size > MAX_BYTES:
        expected, received = f"at most {MAX_BYTES:,} bytes", f"{size:,}"
        raise DataError("the file is too large for an image", where=str(path), expected=expected, received=received)
    check_image(data, str(path), max_side=_ANY_SIDE)
    return data
