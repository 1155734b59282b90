"""The built-in server: REST and gRPC on one event loop, a process for each version of a model."""

import asyncio
import contextlib
import gc
import json
import signal
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import grpc
import uvicorn
import uvloop
from tensorflow_serving.config.model_server_config_pb2 import ModelServerConfig

from tfattn.errors import ServingError
from tfattn.serving import batching_parameters, models_config
from tfattn.serving.batching_parameters import BatchingParameters
from tfattn.serving.failure import Failure
from tfattn.serving.health import Health
from tfattn.serving.logs import log
from tfattn.serving.metrics import Metrics
from tfattn.serving.models import Models
from tfattn.serving.rest.application import application
from tfattn.serving.rest.http import http_protocol
from tfattn.serving.rpc.services import add_services, server_credentials, server_options
from tfattn.serving.section import Serving
from tfattn.serving.signature import DEFAULT, Tensor

BACKLOG = 2048
LINGER = 1.0  # seconds that idle connections stay open while draining: a request may be on its way


@dataclass(frozen=True)
class Serves:
    """What a running server serves, and where.

    Attributes:
        models: each model with the versions that answer.
        rest: the URL of REST and the page.
        grpc: the address of gRPC.
    """

    models: Models
    rest: str
    grpc: str

    def rows(self) -> list[tuple[str, int, str]]:
        """Each version of each model, and its state or why it has none."""
        versions = [version for name in self.models.names for version in self.models.status(name)]
        return [
            (version.model, version.number, version.error.message if version.error else version.state.name)
            for version in versions
        ]

    def curl(self) -> str:
        """A command to try the first model with; nothing where none answers."""
        for name in self.models.names:
            with contextlib.suppress(Failure):
                signature = self.models.find(name).signatures[DEFAULT]
                row = {key: _example(tensor) for key, tensor in signature.inputs.items()}
                body = json.dumps({"instances": [row if len(row) > 1 else next(iter(row.values()))]})
                return f"curl -d '{body}' {self.rest}/v1/models/{name}:predict"
        return ""


def serve(path: Path, serving: Serving, announce: Callable[[Serves], None]) -> None:
    """Serves models until SIGTERM or SIGINT, then answers what it has accepted and returns.

    Args:
        path: a version's parent folder, a folder of models, or a models.config.
        serving: the settings.
        announce: called once, when every model has been tried.

    Raises:
        ServingError: there is nothing to serve, a port is taken, or a file of the settings cannot be read.
    """
    config = models_config.read_config(path)
    parameters = _parameters(serving, path)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(config, parameters, serving, announce))


async def _serve(
    config: ModelServerConfig,
    parameters: BatchingParameters | None,
    serving: Serving,
    announce: Callable[[Serves], None],
) -> None:
    told_to_end = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, told_to_end.set)
    metrics = Metrics()
    models = Models(serving, config, parameters=parameters, metrics=metrics)
    health = Health(models)
    rest = _RestServer(application(models, serving, metrics=metrics, health=health), serving)
    rpc, rpc_port = _rpc_server(serving)
    add_services(rpc, models, serving, metrics=metrics, health=health)
    await asyncio.gather(rest.start(), rpc.start())
    starting = asyncio.create_task(models.start())
    ending = asyncio.create_task(told_to_end.wait())
    try:
        await asyncio.wait([starting, ending], return_when=asyncio.FIRST_COMPLETED)
        if starting.done():
            await starting
            gc.collect()
            gc.freeze()  # what stands now stands to the end: no collection need look at it again
            announce(Serves(models, rest.url, f"{_shown(serving.host)}:{rpc_port}"))
            await ending
    finally:
        log("draining")
        health.draining = True
        starting.cancel()
        await asyncio.gather(rest.stop(), rpc.stop(serving.grace_seconds))
        await models.stop()
        log("ended")


class _RestServer(uvicorn.Server):
    """Leaves signals to us, and idle connections open for a moment when it ends."""

    def __init__(self, app: Callable, serving: Serving):
        super().__init__(
            uvicorn.Config(
                app,
                http=http_protocol(serving),
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                ssl_certfile=serving.tls_certificate,
                ssl_keyfile=serving.tls_key,
                timeout_graceful_shutdown=int(serving.grace_seconds),
            )
        )
        self._listening = _listen(serving.host, serving.rest_port)
        scheme = "https" if serving.tls_certificate else "http"
        self.url = f"{scheme}://{_shown(serving.host)}:{self._listening.getsockname()[1]}"

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def start(self) -> None:
        self._running = asyncio.create_task(self.serve(sockets=[self._listening]))
        while not self.started and not self._running.done():
            await asyncio.sleep(0.01)

    async def stop(self) -> None:
        """Accepts no more connections, answers what comes on those that there are, and ends."""
        for server in self.servers:
            server.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LINGER):
                while self.server_state.connections:
                    await asyncio.sleep(0.02)
        self.should_exit = True
        await self._running


def _rpc_server(serving: Serving) -> tuple[grpc.aio.Server, int]:
    server = grpc.aio.server(options=server_options(serving))
    address = f"{_shown(serving.host)}:{serving.grpc_port}"
    credentials = server_credentials(serving)
    try:
        return server, (
            server.add_secure_port(address, credentials) if credentials else server.add_insecure_port(address)
        )
    except RuntimeError:
        raise _taken(serving.host, serving.grpc_port, "grpc_port") from None


def _parameters(serving: Serving, path: Path) -> BatchingParameters | None:
    if serving.batching == "off":
        return None
    if serving.batching != "beside":
        return batching_parameters.read(Path(serving.batching))
    for folder in (path, path.resolve().parent):
        if (folder / batching_parameters.FILE).is_file():
            return batching_parameters.read(folder / batching_parameters.FILE)
    return None


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise _taken(host, port, "rest_port", error.strerror or str(error)) from None


def _taken(host: str, port: int, key: str, why: str = "address in use, or not of this machine") -> ServingError:
    return ServingError(
        f"cannot listen ({why})",
        where=f"{host}:{port}",
        remedy=f"End the other server, or give another port, such as --set {key}=0 for any that is free.",
    )


def _example(tensor: Tensor) -> object:
    """A value of one row: text, or zeros of its shape."""
    value: object = "some text" if tensor.dtype.is_string else tensor.dtype.as_numpy_dtype(0).item()
    for size in reversed((tensor.shape or ())[1:]):
        value = [value] * max(1, size)
    return value


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host else host
