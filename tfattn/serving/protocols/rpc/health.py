"""grpc.health.v1: whether the server would like to get requests, asked once or watched."""

import asyncio
from collections.abc import AsyncIterator

import grpc
from google.protobuf.message import DecodeError
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse

from tfattn.serving.protocols.health import Health
from tfattn.serving.protocols.rpc import model, prediction

NAME = "grpc.health.v1.Health"
# The server as a whole, its services as TF Serving calls them, and their full names.
SERVICES = ("", "ModelService", "PredictionService", model.NAME, prediction.NAME)

POLL_SECONDS = 0.2


def handlers(health: Health) -> dict[str, grpc.RpcMethodHandler]:
    """Method name to handler; all services are as ready as the server is."""

    async def check(body: bytes, context: grpc.aio.ServicerContext) -> bytes:
        if await _service(body, context) not in SERVICES:
            await context.abort(grpc.StatusCode.NOT_FOUND, "unknown service")
        return _answer(_status(health))

    async def watch(body: bytes, context: grpc.aio.ServicerContext) -> AsyncIterator[bytes]:
        known = await _service(body, context) in SERVICES
        told = None
        while True:
            last = health.draining  # a server that ends waits for the calls that it has
            status = _status(health) if known else HealthCheckResponse.SERVICE_UNKNOWN
            if status != told:
                yield _answer(status)
                told = status
            if last:
                return
            await asyncio.sleep(POLL_SECONDS)

    return {
        "Check": grpc.unary_unary_rpc_method_handler(check),
        "Watch": grpc.unary_stream_rpc_method_handler(watch),
    }


async def _service(body: bytes, context: grpc.aio.ServicerContext) -> str:
    try:
        return HealthCheckRequest.FromString(body).service
    except DecodeError:
        await context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"The request is not a {NAME}CheckRequest")


def _status(health: Health) -> int:
    return HealthCheckResponse.SERVING if health.ready else HealthCheckResponse.NOT_SERVING


def _answer(status: int) -> bytes:
    return HealthCheckResponse(status=status).SerializeToString()
