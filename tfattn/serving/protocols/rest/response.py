"""HTTP responses, those of failures included."""

import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass

from grpc import StatusCode

from tfattn.serving.api.failure import Failure

Header = tuple[bytes, bytes]

JSON = b"application/json"


@dataclass(frozen=True)
class Response:
    """An HTTP response.

    Attributes:
        status: its HTTP status.
        body: its content.
        content_type: what that is; empty where there is no body.
        headers: more headers, with names in lower case.
    """

    status: int
    body: bytes
    content_type: bytes = JSON
    headers: tuple[Header, ...] = ()


@dataclass(frozen=True)
class StreamedResponse:
    """An HTTP response with status 200 that comes in pieces.

    Attributes:
        first: the beginning of its content.
        pieces: the rest of it; closed when the client has gone.
        content_type: what that is.
        headers: more headers, with names in lower case.
    """

    first: bytes
    pieces: AsyncGenerator[bytes, None]
    content_type: bytes
    headers: tuple[Header, ...] = ()
    status: int = 200


class HttpFailure(Failure):
    """A failure for which HTTP has a special status.

    Args:
        status: the HTTP status.
        code: the nearest code of gRPC, by which it is counted.
        message: what was wrong.
    """

    def __init__(self, status: int, code: StatusCode, message: str):
        super().__init__(code, message)
        self._status = status

    @property
    def http_status(self) -> int:
        return self._status


def error_body(message: str) -> bytes:
    """Write the body of every response that is a failure."""
    return json.dumps({"error": message}).encode()


def failure_response(failure: Failure, body: bytes | None = None) -> Response:
    """Make the response of a failure, with the usual body where none is given."""
    headers = ((b"www-authenticate", b"Bearer"),) if failure.code is StatusCode.UNAUTHENTICATED else ()
    return Response(failure.http_status, error_body(failure.message) if body is None else body, headers=headers)
