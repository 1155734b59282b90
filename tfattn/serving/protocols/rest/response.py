"""HTTP responses, including responses to failures."""

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
        status: the HTTP status.
        body: the content.
        content_type: the media type of the body; empty without a body.
        headers: further headers, with names in lower case.
    """

    status: int
    body: bytes
    content_type: bytes = JSON
    headers: tuple[Header, ...] = ()


@dataclass(frozen=True)
class StreamedResponse:
    """A streamed HTTP response with status 200.

    Attributes:
        first: the first piece of the body.
        pieces: the other pieces; closed when the client disconnects.
        content_type: the media type of the body.
        headers: further headers, with names in lower case.
    """

    first: bytes
    pieces: AsyncGenerator[bytes, None]
    content_type: bytes
    headers: tuple[Header, ...] = ()
    status: int = 200


class HttpFailure(Failure):
    """A failure with a specific HTTP status.

    Args:
        status: the HTTP status.
        code: the nearest gRPC status code, for metrics.
        message: the error message.
    """

    def __init__(self, status: int, code: StatusCode, message: str):
        super().__init__(code, message)
        self._status = status

    @property
    def http_status(self) -> int:
        return self._status


def error_body(message: str) -> bytes:
    """Serialize an error message in the format of TF Serving."""
    return json.dumps({"error": message}).encode()


def failure_response(failure: Failure, body: bytes | None = None) -> Response:
    """Create the response to a failure, with TF Serving's error body by default."""
    headers = ((b"www-authenticate", b"Bearer"),) if failure.code is StatusCode.UNAUTHENTICATED else ()
    return Response(failure.http_status, error_body(failure.message) if body is None else body, headers=headers)
