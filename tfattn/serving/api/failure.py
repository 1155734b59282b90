"""The failure of a request: a status code for both protocols, and a message for the client."""

from grpc import StatusCode

# The mapping of TF Serving's HTTP server.
HTTP_STATUS = {
    StatusCode.OK: 200,
    StatusCode.CANCELLED: 499,
    StatusCode.INVALID_ARGUMENT: 400,
    StatusCode.FAILED_PRECONDITION: 400,
    StatusCode.OUT_OF_RANGE: 400,
    StatusCode.DEADLINE_EXCEEDED: 504,
    StatusCode.NOT_FOUND: 404,
    StatusCode.ALREADY_EXISTS: 409,
    StatusCode.ABORTED: 409,
    StatusCode.PERMISSION_DENIED: 403,
    StatusCode.UNAUTHENTICATED: 401,
    StatusCode.RESOURCE_EXHAUSTED: 429,
    StatusCode.UNIMPLEMENTED: 501,
    StatusCode.UNAVAILABLE: 503,
    StatusCode.UNKNOWN: 500,
    StatusCode.INTERNAL: 500,
    StatusCode.DATA_LOSS: 500,
}


# Status codes by their numbers in messages.
CODES = {code.value[0]: code for code in StatusCode}


class Failure(Exception):
    """A request that fails, with a status and a message.

    Args:
        code: the gRPC status code.
        message: the error message, which must not quote texts of the request.

    Attributes:
        parameter: the name of the invalid parameter of the request; empty if it is not known.
    """

    def __init__(self, code: StatusCode, message: str):
        super().__init__(message)
        self.code = code
        self.message = message
        self.parameter = ""

    @property
    def http_status(self) -> int:
        """The HTTP status of the code."""
        return HTTP_STATUS[self.code]


def invalid(message: str) -> Failure:
    """Create the failure of an invalid request."""
    return Failure(StatusCode.INVALID_ARGUMENT, message)
