"""Recognition of images by their header: format and size, without decoding."""

import re
import struct
from collections.abc import Callable
from dataclasses import dataclass

from tfattn.errors import DataError

# Suffixes of images. Images of unsupported formats are refused, not skipped.
SUFFIXES = frozenset(
    (".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".gif", ".bmp")
    + (".webp", ".tif", ".tiff", ".heic", ".heif", ".avif", ".jp2", ".jxl", ".svg")
)
READ = "JPEG, PNG, GIF or BMP"
MAX_SIDE = 8192  # pixels; a decoded square takes 200 MB
MAX_BYTES = 64 << 20  # of a file
_FETCH_AGAIN = "Fetch it again, or remove it."
# Magic bytes of unsupported formats.
_OTHERS: tuple[tuple[bytes, str], ...] = (
    (rb"RIFF....WEBP", "WebP"),
    (rb"II\*\0|MM\0\*", "TIFF"),
    (rb"....ftyp(heic|heix|mif1|msf1)", "HEIC"),
    (rb"....ftypavi[fs]", "AVIF"),
    (rb"\0\0\0\x0cjP  |\xff\x4f\xff\x51", "JPEG 2000"),
    (rb"\0\0\0\x0cJXL |\xff\x0a", "JPEG XL"),
    (rb"\s*<(\?xml|svg)", "SVG"),
)


@dataclass(frozen=True)
class Header:
    """The header of an image: its format, and its size in pixels."""

    kind: str
    height: int
    width: int


def check_image(data: bytes, where: str, *, max_side: int = MAX_SIDE) -> Header:
    """Read and check the header of an image.

    Args:
        data: the bytes of the whole file.
        where: path of the file, for messages.
        max_side: maximum height and width in pixels.

    Raises:
        DataError: the file is not an image of a supported format, or is too large; names the remedy.
    """
    header = header_of(data)
    if header is None:
        kind = next((kind for start, kind in _OTHERS if _starts_with(data, start)), "")
        start = f"bytes that start with {data[:8]!r}" if data else "no bytes"
        raise DataError(
            "the file is not a supported image",
            where=where,
            expected=READ,
            received=kind or start,
            remedy=f"Convert it to {READ}." if kind else _FETCH_AGAIN,
        )
    if min(header.height, header.width) < 1:
        raise _damaged(where, f"a {header.kind} of {header.width} x {header.height} pixels")
    if max(header.height, header.width) > max_side:
        raise DataError(
            "the image is too large",
            where=where,
            expected=f"sides of at most {max_side:,} pixels",
            received=f"{header.width:,} x {header.height:,}",
            remedy="Make it smaller, or raise `max_side`.",
        )
    return header


def header_of(data: bytes) -> Header | None:
    """Read the format and the size of an image; None for an unsupported format or a truncated header."""
    for start, kind, size_of in _KINDS:
        if data.startswith(start):
            try:
                return Header(kind, *size_of(data))
            except (struct.error, IndexError):
                return None
    return None


def _jpeg_size(data: bytes) -> tuple[int, int]:
    """Find the frame header among the segments of a JPEG, which start with a marker and their length."""
    offset = 2
    while True:
        while data[offset] == 0xFF and data[offset + 1] == 0xFF:  # fill bytes
            offset += 1
        marker = data[offset + 1]
        if data[offset] != 0xFF or marker == 0xDA:  # start of pixel data without a frame header
            raise IndexError
        if marker in range(0xC0, 0xD0) and marker not in (0xC4, 0xC8, 0xCC):
            return struct.unpack_from(">HH", data, offset + 5)
        if marker == 0x01 or marker in range(0xD0, 0xD8):  # markers without a length
            offset += 2
        else:
            offset += 2 + struct.unpack_from(">H", data, offset + 2)[0]


def _png_size(data: bytes) -> tuple[int, int]:
    width, height = struct.unpack_from(">II", data, 16)
    return height, width


def _gif_size(data: bytes) -> tuple[int, int]:
    width, height = struct.unpack_from("<HH", data, 6)
    return height, width


def _bmp_size(data: bytes) -> tuple[int, int]:
    width, height = struct.unpack_from("<ii", data, 18)
    return abs(height), width  # negative if the first row is the top row


_KINDS: tuple[tuple[bytes, str, Callable[[bytes], tuple[int, int]]], ...] = (
    (b"\xff\xd8\xff", "JPEG", _jpeg_size),
    (b"\x89PNG\r\n\x1a\n", "PNG", _png_size),
    (b"GIF8", "GIF", _gif_size),
    (b"BM", "BMP", _bmp_size),
)


def _starts_with(data: bytes, start: bytes) -> bool:
    return re.match(start, data, re.DOTALL) is not None


def _damaged(where: str, received: str) -> DataError:
    return DataError(
        "the image is damaged",
        where=where,
        expected="pixels",
        received=received,
        remedy=_FETCH_AGAIN,
    )
