"""The failure of a request: a code that both protocols know, and a message for the client."""

from grpc import StatusCode

# As TF Serving's HTTP server maps them.
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


# By the numbers that messages have for them.
CODES = {code.value[0]: code for code in StatusCode}


class Failure(Exception):
    """A request that fails, with a status and a message.

    Args:
        code: what kind of failure it is, in gRPC's terms.
        message: what was wrong with the request, or what the server lacks; never the request's own texts.

    Attributes:
        parameter: the name of the request's parameter that is wrong; empty where that is not known.
    """

    def __init__(self, code: StatusCode, message: str):
        super().__init__(message)
        self.code = code
        self.message = message
        self.parameter = ""

    @property
    def http_status(self) -> int:
        """The HTTP status of the same meaning."""
        return HTTP_STATUS[self.code]


def invalid(message: str) -> Failure:
    """Make the failure of a request that is wrong."""
    return Failure(StatusCode.INVALID_ARGUMENT, message)
