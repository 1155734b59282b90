"""One gRPC call: bytes in, bytes out, and a status for every failure."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import grpc
from google.protobuf.message import DecodeError, Message
from grpc import StatusCode

from tfattn.serving.api.bearer import Bearer
from tfattn.serving.api.failure import Failure, invalid
from tfattn.serving.models.models import Models
from tfattn.serving.models.version import Version
from tfattn.serving.monitoring.logs import log, log_error
from tfattn.serving.monitoring.metrics import Metrics
from tfattn.serving.protocols.health import Health
from tfattn.serving.section import Serving

LONGEST_MESSAGE = 1024  # bytes, as in TF Serving; a client refuses a status of more than 8 KiB
LARGE = 2**18  # bytes, the conversion of which the event loop must not wait for

Value = TypeVar("Value")


@dataclass(slots=True)
class RpcCall:
    """The context of a gRPC call.

    Attributes:
        models: what is served.
        deadline: when nobody waits for the response any more, in the event loop's time; None for never.
        size: how many bytes its request has.
        max_rows: the most rows that it may have.
        model: the name of the model that is asked for, once it is known to be one; "" before.
        version: the version that answers, once it is found.
    """

    models: Models
    deadline: float | None
    size: int
    max_rows: int
    model: str = ""
    version: Version | None = None

    def find(self, request: Any) -> Version:
        """Find the version that a request names in its `model_spec`.

        Raises:
            Failure: it asks for none, or for one that is not available.
        """
        if not request.HasField("model_spec"):
            raise invalid("Missing ModelSpec")
        spec = request.model_spec
        if not spec.name:
            raise invalid("ModelSpec has no name specified.")
        if spec.name in self.models.names:
            self.model = spec.name
        choice = spec.WhichOneof("version_choice")
        number = spec.version.value if choice == "version" else None
        label = spec.version_label if choice == "version_label" else None
        self.version = self.models.find(spec.name, number, label)
        return self.version


class HandlerFactory:
    """Makes the handlers of methods.

    Args:
        models: what is served.
        serving: the settings.
        metrics: what counts.
        health: what the server says of itself.

    Raises:
        ServingError: the token cannot be read.
    """

    def __init__(self, models: Models, serving: Serving, metrics: Metrics, health: Health):
        self._health = health
        self._models, self._metrics = models, metrics
        self._logged, self._max_rows = serving.log_requests, serving.max_rows
        self._bearer = Bearer(serving.token_file) if serving.token_file else None

    def handler(
        self,
        api: str,
        kind: type[Message],
        method: Callable[[Any, RpcCall], Awaitable[bytes]],
        *,
        counted: bool = True,
    ) -> grpc.RpcMethodHandler:
        """Make the handler of one method.

        Args:
            api: what the metrics call it.
            kind: what a request is.
            method: gives the response to a request, or raises Failure.
            counted: whether the metrics and the log of requests hear of it.
        """

        async def handle(body: bytes, context: grpc.aio.ServicerContext) -> bytes:
            start = time.monotonic()  # the event loop's clock, which itself stands still while it works
            remaining = context.time_remaining()
            deadline = None if remaining is None else start + remaining
            call = RpcCall(self._models, deadline, len(body), self._max_rows)
            failure: Failure | None = None
            try:
                self._check_caller(context)
                if self._health.draining:  # a call that comes as gRPC stops would be cancelled without a word
                    raise Failure(StatusCode.UNAVAILABLE, "The server is about to end")
                # gRPC would call a message that it cannot read the server's own failure.
                response = await method(await aside(call.size, _parsed, kind, body), call)
            except Failure as raised:
                failure = raised
            except asyncio.CancelledError:
                late = call.deadline is not None and time.monotonic() >= call.deadline
                failure = Failure(StatusCode.DEADLINE_EXCEEDED if late else StatusCode.CANCELLED, "")
                raise
            except Exception as error:
                log_error(error, entrypoint="GRPC", api=api)
                failure = Failure(StatusCode.INTERNAL, "The server failed. Its log says where.")
            finally:
                if counted:
                    self._count(call, api, failure.code if failure else StatusCode.OK, time.monotonic() - start)
            if failure is not None:
                await context.abort(failure.code, shortened(failure.message))
            return response

        return grpc.unary_unary_rpc_method_handler(handle)

    def _count(self, call: RpcCall, api: str, code: StatusCode, seconds: float) -> None:
        number = call.version.number if call.version else None
        self._metrics.request(call.model, number, api=api, entrypoint="GRPC", code=code, seconds=seconds)
        if self._logged:
            log("request", entrypoint="GRPC", api=api, model=call.model, version=number, code=code, seconds=seconds)

    def _check_caller(self, context: grpc.aio.ServicerContext) -> None:
        if self._bearer is not None:
            given = dict(context.invocation_metadata()).get("authorization", "")
            if not isinstance(given, str) or not self._bearer.admits(given):  # bytes where it is not UTF-8
                raise Failure(StatusCode.UNAUTHENTICATED, "A bearer token that this server knows is needed")


async def aside(size: int, function: Callable[..., Value], *arguments: object) -> Value:
    """Convert so many bytes: here, or in a thread where that takes long."""
    return function(*arguments) if size < LARGE else await asyncio.to_thread(function, *arguments)


def shortened(message: str) -> str:
    """Shorten a message so that it fits into a status."""
    encoded = message.encode(errors="replace")
    if len(encoded) <= LONGEST_MESSAGE:
        return encoded.decode()
    return encoded[:LONGEST_MESSAGE].decode(errors="ignore") + "...TRUNCATED"


def _parsed(kind: type[Message], body: bytes) -> Message:
    try:
        return kind.FromString(body)
    except DecodeError:
        raise invalid(f"The request is not a {kind.DESCRIPTOR.full_name}") from None
