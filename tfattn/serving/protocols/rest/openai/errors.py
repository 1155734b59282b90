"""Failures as OpenAI's API words them."""

import json
from typing import Any

from grpc import StatusCode

from tfattn.serving.api.failure import Failure
from tfattn.serving.protocols.rest.response import Response, failure_response

_CODES = {StatusCode.NOT_FOUND: "model_not_found", StatusCode.UNAUTHENTICATED: "invalid_api_key"}


def error_object(failure: Failure) -> dict[str, Any]:
    """Make the object of a failure."""
    kind = "invalid_request_error" if failure.http_status < 500 else "server_error"
    error = {"message": failure.message, "type": kind, "param": failure.parameter or None}
    return {"error": {**error, "code": _CODES.get(failure.code)}}


def error_response(failure: Failure) -> Response:
    """Make the response of a failure."""
    return failure_response(failure, json.dumps(error_object(failure), ensure_ascii=False).encode())
