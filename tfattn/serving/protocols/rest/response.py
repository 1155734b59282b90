"""HTTP responses, those of failures included."""

import json
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


def failure_response(failure: Failure) -> Response:
    """Make the response of a failure."""
    headers = ((b"www-authenticate", b"Bearer"),) if failure.code is StatusCode.UNAUTHENTICATED else ()
    return Response(failure.http_status, error_body(failure.message), headers=headers)
