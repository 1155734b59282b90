"""Checksums of configuration files: a file that tfattn writes starts with the SHA-256 of its text."""

import hashlib
from pathlib import Path

from tfattn.errors import ConfigError

_PREFIX = "# SHA-256 of all that follows: "


def checksummed(text: str) -> str:
    """Return the text of a configuration with its checksum as a comment in the first line."""
    return f"{_PREFIX}{_digest(text)}\n{text}"


def has_valid_checksum(path: str | Path) -> bool:
    """Return whether a file has a checksum that matches its text."""
    try:
        return _matches(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return False


def verify_checksum(text: str, name: str) -> None:
    """Verify the checksum of a configuration; a text without a checksum passes.

    Args:
        text: the content of the file.
        name: the file's name, for messages.

    Raises:
        ConfigError: the checksum does not match the text.
    """
    if text.startswith(_PREFIX) and not _matches(text):
        raise ConfigError(
            "the file was changed since tfattn wrote it",
            where=name,
            expected="a text with the SHA-256 in its first line",
            remedy="Use the pipeline file that it was written from, or remove the first line if the change is meant.",
        )


def _matches(text: str) -> bool:
    first, _, rest = text.partition("\n")
    return first == _PREFIX + _digest(rest)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
