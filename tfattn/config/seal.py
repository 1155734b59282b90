"""A configuration that was written down begins with its own SHA-256, so that a later change in it is found."""

import hashlib
from pathlib import Path

from tfattn.errors import ConfigError

_SEAL = "# SHA-256 of all that follows: "


def sealed(text: str) -> str:
    """Put the seal of a configuration, a comment, in front of it."""
    return f"{_SEAL}{_digest(text)}\n{text}"


def is_sealed(path: str | Path) -> bool:
    """Say whether a file stands as it was sealed."""
    try:
        return _holds(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return False


def check_seal(text: str, name: str) -> None:
    """Refuse a configuration that was changed since it was sealed; `name` stands for the file in the message.

    Raises:
        ConfigError: it has a seal, of another text.
    """
    if text.startswith(_SEAL) and not _holds(text):
        raise ConfigError(
            "the file was changed since tfattn wrote it",
            where=name,
            expected="a text of the SHA-256 in its first line",
            remedy="Use the pipeline file that it was written from, or remove the first line if the change is meant.",
        )


def _holds(text: str) -> bool:
    first, _, rest = text.partition("\n")
    return first == _SEAL + _digest(rest)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
