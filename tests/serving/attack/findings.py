"""What came back for malformed requests, and which of it must not be."""

import json
from collections import Counter
from dataclasses import dataclass, field

from grpc import StatusCode

# What says that the server is at fault, or that it is not well.
SERVER_FAULTS = (
    *(StatusCode.INTERNAL, StatusCode.UNKNOWN, StatusCode.UNAVAILABLE, StatusCode.DATA_LOSS),
    *(StatusCode.DEADLINE_EXCEEDED, StatusCode.CANCELLED, StatusCode.ABORTED),
)


@dataclass(frozen=True)
class Response:
    """An HTTP response."""

    status: int
    content_type: str
    body: bytes

    @property
    def is_error(self) -> bool:
        """Whether it is an error as TF Serving tells it."""
        try:
            return self.content_type.startswith("application/json") and isinstance(json.loads(self.body)["error"], str)
        except (ValueError, KeyError, TypeError):
            return False


@dataclass
class Findings:
    """What came back.

    Attributes:
        outcomes: how many of each status, by kind of request.
        faults: what must not be, with the bytes that caused it.
        checks: how many good requests were answered in between.
    """

    outcomes: Counter = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    checks: int = 0

    def response(self, kind: str, request: bytes, response: Response) -> None:
        """Counts an HTTP response. Errors are JSON, but for the empty one to a page that does not say where it is."""
        self.outcomes[f"{kind} {response.status}"] += 1
        without_origin = b"OPTIONS " in request and not response.body
        if response.status >= 500:
            self.faults.append(f"{kind}: {response.status} {response.body[:200]!r} for {shown(request)}")
        elif response.status >= 400 and not response.is_error and not without_origin:
            what = f"{response.status} without an error in JSON, but {response.body[:200]!r}"
            self.faults.append(f"{kind}: {what}, for {shown(request)}")

    def code(self, method: str, request: bytes, code: StatusCode, details: str = "") -> None:
        """Counts an answer over gRPC."""
        self.outcomes[f"gRPC {code.name}"] += 1
        if code in SERVER_FAULTS:
            self.faults.append(f"gRPC: {code.name} {details} for {method} {shown(request)}")


def responses(received: bytes) -> list[Response]:
    """The whole HTTP responses that a socket gave."""
    found = []
    while received.startswith(b"HTTP/1"):
        head, ended, rest = received.partition(b"\r\n\r\n")
        pairs = (line.partition(b": ") for line in head.split(b"\r\n")[1:])
        headers = {name.lower(): value for name, _, value in pairs}
        length = int(headers.get(b"content-length", 0))
        if not ended or len(rest) < length:
            break
        status = int(head[9:12])
        if status != 100:
            found.append(Response(status, headers.get(b"content-type", b"").decode(), rest[:length]))
        received = rest[length:]
    return found


def shown(data: bytes) -> str:
    """The beginning of a request."""
    return repr(data if len(data) <= 300 else data[:300] + b"...")
