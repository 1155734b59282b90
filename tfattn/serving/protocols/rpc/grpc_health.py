"""The service grpc.health.v1: the servicer of grpc-health-checking with the server's readiness."""

import asyncio
from collections.abc import Awaitable, Callable

import grpc
from google.protobuf.message import DecodeError
from grpc_health.v1.health import aio
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse

from tfattn.serving.models.models import Models
from tfattn.serving.protocols.rpc.prediction import MODEL_SERVICE, PREDICTION_SERVICE

NAME = "grpc.health.v1.Health"
# The whole server, TF Serving's names of its services, and their full names.
SERVICES = ("", "ModelService", "PredictionService", MODEL_SERVICE, PREDICTION_SERVICE)

POLL_SECONDS = 0.2
FINAL_STATUS_SECONDS = 0.1  # in which watchers receive the final status


class HealthService(aio.HealthServicer):
    """A gRPC health service that reports the server's readiness for every service.

    Args:
        models: the served models.
    """

    def __init__(self, models: Models):
        super().__init__()
        self._models = models
        self._watching: set[asyncio.Task] = set()

    async def follow(self) -> None:
        """Report changes to watchers; return when the server drains and all watchers are released."""
        while not self._models.draining:
            await self._update()
            await asyncio.sleep(POLL_SECONDS)
        await self.enter_graceful_shutdown()
        await asyncio.sleep(FINAL_STATUS_SECONDS)
        for watching in self._watching:
            watching.cancel()

    async def Check(self, request: HealthCheckRequest, context: grpc.aio.ServicerContext) -> HealthCheckResponse:
        """Return the current status."""
        await self._update()
        return await super().Check(request, context)

    async def Watch(self, request: HealthCheckRequest, context: grpc.aio.ServicerContext) -> None:
        """Send the status whenever it changes, and end with the server, unlike the library's implementation."""
        await self._update()
        watching = asyncio.create_task(super().Watch(request, context))
        self._watching.add(watching)
        try:
            await asyncio.wait([watching])
            if not watching.cancelled():
                watching.result()
        finally:
            watching.cancel()
            self._watching.discard(watching)

    async def _update(self) -> None:
        status = HealthCheckResponse.SERVING if self._models.ready else HealthCheckResponse.NOT_SERVING
        for service in SERVICES:
            await self.set(service, status)


def handlers(service: HealthService) -> dict[str, grpc.RpcMethodHandler]:
    """Return the handlers by method name."""
    serializer = {"response_serializer": HealthCheckResponse.SerializeToString}
    return {
        "Check": grpc.unary_unary_rpc_method_handler(_parsing(service.Check), **serializer),
        "Watch": grpc.unary_stream_rpc_method_handler(_parsing(service.Watch), **serializer),
    }


def _parsing(method: Callable[..., Awaitable]) -> Callable[..., Awaitable]:
    """Wrap a method to parse requests itself: gRPC would report an invalid message as an error of the server."""

    async def read(body: bytes, context: grpc.aio.ServicerContext) -> HealthCheckResponse | None:
        try:
            request = HealthCheckRequest.FromString(body)
        except DecodeError:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"The request is not a {NAME}CheckRequest")
        return await method(request, context)

    return read
