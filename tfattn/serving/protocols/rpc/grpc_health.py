"""grpc.health.v1: grpc-health-checking's own servicer, with the server's readiness."""

import asyncio
from collections.abc import Awaitable, Callable

import grpc
from google.protobuf.message import DecodeError
from grpc_health.v1.health import aio
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse

from tfattn.serving.protocols.health import Health
from tfattn.serving.protocols.rpc import model, prediction

NAME = "grpc.health.v1.Health"
# The server as a whole, its services as TF Serving calls them, and their full names.
SERVICES = ("", "ModelService", "PredictionService", model.NAME, prediction.NAME)

POLL_SECONDS = 0.2
LAST_WORD_SECONDS = 0.1  # in which those who watch hear that the server ends


class HealthService(aio.HealthServicer):
    """gRPC's health service, which reports that all services are as ready as the server.

    Args:
        health: what the server says of itself.
    """

    def __init__(self, health: Health):
        super().__init__()
        self._health = health
        self._watching: set[asyncio.Task] = set()

    async def follow(self) -> None:
        """Tell watchers of changes; return once the server drains and they have been released."""
        while not self._health.draining:
            await self._tell()
            await asyncio.sleep(POLL_SECONDS)
        await self.enter_graceful_shutdown()
        await asyncio.sleep(LAST_WORD_SECONDS)
        for watching in self._watching:
            watching.cancel()

    async def Check(self, request: HealthCheckRequest, context: grpc.aio.ServicerContext) -> HealthCheckResponse:
        """Return the present status."""
        await self._tell()
        return await super().Check(request, context)

    async def Watch(self, request: HealthCheckRequest, context: grpc.aio.ServicerContext) -> None:
        """Yield the status whenever it changes, and end with the server, which the library's own does not."""
        await self._tell()
        watching = asyncio.create_task(super().Watch(request, context))
        self._watching.add(watching)
        try:
            await asyncio.wait([watching])
            if not watching.cancelled():
                watching.result()
        finally:
            watching.cancel()
            self._watching.discard(watching)

    async def _tell(self) -> None:
        status = HealthCheckResponse.SERVING if self._health.ready else HealthCheckResponse.NOT_SERVING
        for service in SERVICES:
            await self.set(service, status)


def handlers(service: HealthService) -> dict[str, grpc.RpcMethodHandler]:
    """Make the handlers by method name."""
    written = {"response_serializer": HealthCheckResponse.SerializeToString}
    return {
        "Check": grpc.unary_unary_rpc_method_handler(_reading(service.Check), **written),
        "Watch": grpc.unary_stream_rpc_method_handler(_reading(service.Watch), **written),
    }


def _reading(method: Callable[..., Awaitable]) -> Callable[..., Awaitable]:
    """Wrap a method so that it takes bytes: gRPC would blame the server for a message that it cannot parse."""

    async def read(body: bytes, context: grpc.aio.ServicerContext) -> HealthCheckResponse | None:
        try:
            request = HealthCheckRequest.FromString(body)
        except DecodeError:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"The request is not a {NAME}CheckRequest")
        return await method(request, context)

    return read
