"""Failures in the format of OpenAI's API."""

import json
from typing import Any

from grpc import StatusCode

from tfattn.serving.api.failure import Failure
from tfattn.serving.protocols.rest.response import Response, failure_response

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
