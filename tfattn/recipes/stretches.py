"""Stretches of whole lines at equal distances of a large file, which is not read as a whole."""

from pathlib import Path

from tfattn.files import AnyPath
from tfattn.formats.parts import Span, rest_of_line

LARGE_BYTES = 64 << 20  # smaller files are read to the end
NUM_STRETCHES = 16


def is_large(path: AnyPath) -> bool:
    """Return whether a file is too large to be read to the end."""
    return path.stat().st_size > LARGE_BYTES


def stretches(path: AnyPath, size: int) -> list[tuple[Span, bytes]]:
    """Read stretches of about `size` bytes, without the start of the file.

    Returns:
        each stretch as a span with a line number that is not known, and its bytes; empty for a file that is small,
        compressed or remote.
    """
    if not isinstance(path, Path) or not is_large(path):
        return []
    found = []
    total = path.stat().st_size
    with path.open("rb") as file:
        for number in range(1, NUM_STRETCHES):
            file.seek(total * number // NUM_STRETCHES)
            if rest_of_line(file) is None:
                continue
            begin = file.tell()
            data = file.read(size)
            data += rest_of_line(file) or b""
            if data:
                found.append((Span.of(data, begin, line=2), data))  # line 1 may have a byte-order mark
    return found
