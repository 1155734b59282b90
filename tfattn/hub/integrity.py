"""Checks of downloaded files: their checksums, and whether safetensors files are complete."""

import hashlib
import json
import re
import struct
from pathlib import Path

from tfattn import files
from tfattn.errors import HubError

MAX_HEADER_BYTES = 100_000_000  # the limit of the package safetensors
_SHA256, _GIT = re.compile(r"[0-9a-f]{64}"), re.compile(r"[0-9a-f]{40}")
_BLOCK_BYTES = 1 << 20


def check_checksum(path: Path, *, where: str) -> None:
    """Compare a file of the cache with its checksum, and remove it from the cache if they differ.

    The cache stores a file under its checksum, and links to it: the SHA-256 of large files, git's SHA-1 of others. The
    stored file may be a link, too, to a file that several repositories share. A file without a link is not compared.

    Args:
        path: the file, usually a link.
        where: the address of the file, for messages.

    Raises:
        HubError: the checksum differs.
    """
    stored = path.parent / path.readlink() if path.is_symlink() else path
    expected = stored.name
    if stored == path or not (_SHA256.fullmatch(expected) or _GIT.fullmatch(expected)):
        return
    received = files.sha256(path) if _SHA256.fullmatch(expected) else _git_sha1(path)
    if received == expected:
        return
    path.resolve().unlink()
    for link in (stored, path):
        link.unlink(missing_ok=True)
    raise HubError(
        "the checksum of the downloaded file differs",
        where=where,
        expected=expected,
        received=received,
        remedy="The file was removed from the cache: run the command again. If it differs again, the server or the "
        "mirror in HF_ENDPOINT is damaged.",
    )


def check_safetensors(path: Path, *, where: str) -> None:
    """Check that a safetensors file has all bytes of its tensors; the header is read with a limited size.

    Args:
        path: the file.
        where: the address of the file, for messages.

    Raises:
        HubError: the header is damaged, or the file is shorter or longer than its tensors.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        start = file.read(8)
        length = struct.unpack("<Q", start)[0] if len(start) == 8 else 0
        if not 2 <= length <= min(MAX_HEADER_BYTES, size - 8):
            raise _damaged(where, f"a header of at most {min(MAX_HEADER_BYTES, max(size - 8, 0)):,} bytes", length)
        header = file.read(length)
    try:
        tensors = json.loads(header)
        ends = [int(tensor["data_offsets"][1]) for name, tensor in tensors.items() if name != "__metadata__"]
    except (ValueError, LookupError, TypeError, AttributeError):
        raise _damaged(where, "a header in JSON with the offsets of all tensors", "another header") from None
    if (expected := 8 + length + max(ends, default=0)) != size:
        raise _damaged(where, f"{expected:,} bytes, the end of the last tensor", f"a file of {size:,}")


def _damaged(where: str, expected: str, received: object) -> HubError:
    return HubError(
        "the file is not a complete safetensors file",
        where=where,
        expected=expected,
        received=str(received),
        remedy="The repository itself has this file: choose another @REVISION, or report it to the author.",
    )


def _git_sha1(path: Path) -> str:
    """Compute the SHA-1 of a file as git does: of its size and its content."""
    digest = hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()
