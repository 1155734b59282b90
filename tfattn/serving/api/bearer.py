"""The bearer token that requests must carry, where one is set."""

import hmac
import os
import stat
from pathlib import Path

from tfattn.errors import ServingError


class Bearer:
    """The token that every request must carry.

    Args:
        path: a file that holds it, and nothing else but white space around it.

    Raises:
        ServingError: the file cannot be read, or holds no token.
    """

    def __init__(self, path: str | Path):
        self._token = read_token(path).encode()

    def admits(self, authorization: str) -> bool:
        """Tell whether the value of a request's `authorization` is `Bearer` and the token."""
        scheme, _, token = authorization.partition(" ")
        # In a time that does not tell how much of it was right.
        return scheme.lower() == "bearer" and hmac.compare_digest(token.strip().encode(), self._token)


def read_token(path: str | Path) -> str:
    """Read the token of a file.

    Raises:
        ServingError: the file cannot be read, others may read it, or it holds no token.
    """
    expected = "one line of visible ASCII characters"
    try:
        _check_private(Path(path))
        token = Path(path).read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ServingError(f"cannot read the token ({error})", where=str(path), expected=expected) from None
    if not token or not all("!" <= character <= "~" for character in token):
        raise ServingError("not a token", where=str(path), expected=expected)
    return token


def _check_private(path: Path) -> None:
    """Refuse a file of this user that others may read; a mounted secret of another user is theirs to protect."""
    status = path.stat()
    if status.st_uid == os.geteuid() and status.st_mode & 0o077:
        raise ServingError(
            "others may read the token",
            where=str(path),
            expected="a file with mode 600",
            received=f"mode {stat.S_IMODE(status.st_mode):o}",
            remedy=f"chmod 600 {path}",
        )
