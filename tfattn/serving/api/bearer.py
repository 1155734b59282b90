"""Bearer token authentication."""

import hmac
import os
import stat
from pathlib import Path

from grpc import StatusCode

from tfattn.errors import ServingError
from tfattn.serving.api.failure import Failure


class Bearer:
    """A check of the bearer token of requests.

    Args:
        path: a file with the token, which may be surrounded by white space.

    Raises:
        ServingError: the file cannot be read, or has no token.
    """

    def __init__(self, path: str | Path):
        self._token = read_token(path).encode()

    def check(self, authorization: str) -> None:
        """Check that an `authorization` header has the scheme `Bearer` and the token.

        Raises:
            Failure: UNAUTHENTICATED.
        """
        scheme, _, token = authorization.partition(" ")
        # Constant time: the duration does not reveal a matching prefix.
        if scheme.lower() != "bearer" or not hmac.compare_digest(token.strip().encode(), self._token):
            raise Failure(StatusCode.UNAUTHENTICATED, "A bearer token that this server knows is needed")


def read_token(path: str | Path) -> str:
    """Read a token from a file.

    Raises:
        ServingError: the file cannot be read, other users may read it, or it has no token.
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
    """Refuse a file of this user that other users may read; mounted secrets of other users are not checked."""
    status = path.stat()
    if status.st_uid == os.geteuid() and status.st_mode & 0o077:
        raise ServingError(
            "others may read the token",
            where=str(path),
            expected="a file with mode 600",
            received=f"mode {stat.S_IMODE(status.st_mode):o}",
            remedy=f"chmod 600 {path}",
        )
