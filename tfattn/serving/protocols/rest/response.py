"""HTTP responses, including responses to failures."""

import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any

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


_CODES = {StatusCode.NOT_FOUND: "model_not_found", StatusCode.UNAUTHENTICATED: "invalid_api_key"}


class ApiFailure(Failure):
    """A failure with an error code of OpenAI's API.

    Args:
        status: the gRPC status code.
        message: the error message.
        parameter: the name of the invalid parameter; empty for other parts of the request.
        error_code: OpenAI's code, such as "unsupported_parameter"; None without a code.
    """

    def __init__(self, status: StatusCode, message: str, *, parameter: str = "", error_code: str | None = None):
        super().__init__(status, message)
        self.parameter, self.error_code = parameter, error_code


def invalid_parameter(parameter: str, message: str, *, error_code: str | None = None) -> ApiFailure:
    """Create the failure of an invalid parameter."""
    message = f"{parameter}: {message}"
    return ApiFailure(StatusCode.INVALID_ARGUMENT, message, parameter=parameter, error_code=error_code)


def error_object(failure: Failure) -> dict[str, Any]:
    """Return the error object of a failure."""
    kind = "invalid_request_error" if failure.http_status < 500 else "server_error"
    error_code = failure.error_code if isinstance(failure, ApiFailure) else _CODES.get(failure.code)
    error = {"message": failure.message, "type": kind, "param": failure.parameter or None, "code": error_code}
    return {"error": error}


def error_response(failure: Failure) -> Response:
    """Return the response to a failure."""
    return failure_response(failure, json.dumps(error_object(failure), ensure_ascii=False).encode())
