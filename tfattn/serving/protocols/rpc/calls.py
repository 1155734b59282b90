"""Handlers of gRPC calls, which return a status for every failure."""

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
from tfattn.serving.monitoring.logs import log_error
from tfattn.serving.monitoring.metrics import Metrics
from tfattn.serving.protocols.core import RequestRecord
from tfattn.serving.section import Serving

MAX_MESSAGE_LENGTH = 1024  # bytes, the limit of TF Serving; clients refuse a status above 8 KiB
LARGE = 2**18  # bytes; larger messages are converted in a thread

Value = TypeVar("Value")


@dataclass(slots=True)
class RpcCall:
    """The context of a gRPC call.

    Attributes:
        models: the served models.
        deadline: the time in the event loop's clock after which the call fails; None for no deadline.
        size: the size of the request in bytes.
        max_rows: the maximum number of rows of a request.
        model: the name of the requested model, once it is read; "" before.
        version: the version that answers, once it is found.
    """

    models: Models
    deadline: float | None
    size: int
    max_rows: int
    model: str = ""
    version: Version | None = None

    def find(self, request: Any) -> Version:
        """Find the version in the `model_spec` of a request.

        Raises:
            Failure: the request names no model, or the version is not available.
        """
        if not request.HasField("model_spec"):
            raise invalid("Missing ModelSpec")
        spec = request.model_spec
        if not spec.name:
            raise invalid("ModelSpec has no name specified.")
        self.model = spec.name
        choice = spec.WhichOneof("version_choice")
        number = spec.version.value if choice == "version" else None
        label = spec.version_label if choice == "version_label" else None
        self.version = self.models.find(spec.name, number, label)
        return self.version


class HandlerFactory:
    """A factory of the handlers of gRPC methods.

    Args:
        models: the served models.
        serving: the server's settings.
        metrics: the server's metrics.

    Raises:
        ServingError: the token cannot be read.
    """

    def __init__(self, models: Models, serving: Serving, metrics: Metrics):
        self._models, self._serving, self._metrics = models, serving, metrics
        self._bearer = Bearer(serving.token_file) if serving.token_file else None

    def handler(
        self,
        api: str,
        kind: type[Message],
        method: Callable[[Any, RpcCall], Awaitable[bytes]],
        *,
        counted: bool = True,
    ) -> grpc.RpcMethodHandler:
        """Create the handler of a method.

        Args:
            api: the method's name in metrics.
            kind: the message class of requests.
            method: returns the response to a request, or raises Failure.
            counted: whether calls are counted in metrics and logged.
        """

        async def handle(body: bytes, context: grpc.aio.ServicerContext) -> bytes:
            start = time.monotonic()  # uvloop's own clock does not advance within an iteration
            remaining = context.time_remaining()
            deadline = None if remaining is None else start + remaining
            call = RpcCall(self._models, deadline, len(body), self._serving.max_rows)
            failure: Failure | None = None
            try:
                self._check_caller(context)
                if self._models.draining:  # gRPC would cancel a late call without a message
                    raise Failure(StatusCode.UNAVAILABLE, "The server is shutting down")
                # gRPC itself would report an invalid message as an internal error of the server.
                response = await method(await convert(call.size, _parse, kind, body), call)
            except Failure as raised:
                failure = raised
            except asyncio.CancelledError:
                late = call.deadline is not None and time.monotonic() >= call.deadline
                failure = Failure(StatusCode.DEADLINE_EXCEEDED if late else StatusCode.CANCELLED, "")
                raise
            except Exception as error:
                log_error(error, entrypoint="GRPC", api=api)
                failure = Failure(StatusCode.INTERNAL, "The server failed. See its log.")
            finally:
                if counted:
                    code, seconds = failure.code if failure else StatusCode.OK, time.monotonic() - start
                    record = RequestRecord("GRPC", api, call.model, call.version, code, seconds)
                    record.write(self._models, self._serving, self._metrics)
            if failure is not None:
                await context.abort(failure.code, truncated(failure.message))
            return response

        return grpc.unary_unary_rpc_method_handler(handle)

    def _check_caller(self, context: grpc.aio.ServicerContext) -> None:
        if self._bearer is not None:
            given = dict(context.invocation_metadata()).get("authorization", "")
            self._bearer.check(given if isinstance(given, str) else "")  # bytes if it is not UTF-8


async def convert(size: int, function: Callable[..., Value], *arguments: object) -> Value:
    """Call a conversion of a message, in a thread if the message is large."""
    return function(*arguments) if size < LARGE else await asyncio.to_thread(function, *arguments)


def truncated(message: str) -> str:
    """Truncate a message to the size limit of a status."""
    encoded = message.encode(errors="replace")
    if len(encoded) <= MAX_MESSAGE_LENGTH:
        return encoded.decode()
    return encoded[:MAX_MESSAGE_LENGTH].decode(errors="ignore") + "...TRUNCATED"


def _parse(kind: type[Message], body: bytes) -> Message:
    try:
        return kind.FromString(body)
    except DecodeError:
        raise invalid(f"The request is not a {kind.DESCRIPTOR.full_name}") from None
