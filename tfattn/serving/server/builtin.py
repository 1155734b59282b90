"""The built-in server: REST and gRPC on one event loop, and a process for each version of a model."""

import asyncio
import contextlib
import dataclasses
import gc
import json
import logging
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import grpc
import uvloop
from tensorflow_serving.config.model_server_config_pb2 import ModelServerConfig

from tfattn.errors import ServingError
from tfattn.serving.api.failure import Failure
from tfattn.serving.api.signature import DEFAULT, Tensor
from tfattn.serving.engine import batching_parameters
from tfattn.serving.engine.batching_parameters import BatchingParameters
from tfattn.serving.models import models_config
from tfattn.serving.models.models import Models
from tfattn.serving.monitoring.logs import Problems, log
from tfattn.serving.monitoring.metrics import Metrics
from tfattn.serving.page.page import Page
from tfattn.serving.protocols.listening import cannot_listen, connections_within_limit, url_host
from tfattn.serving.protocols.rest.application import Application
from tfattn.serving.protocols.rest.server import RestServer
from tfattn.serving.protocols.rpc.services import add_services, server_credentials, server_options
from tfattn.serving.section import Serving


@dataclass(frozen=True)
class Announcement:
    """The models and addresses of a running server.

    Attributes:
        models: the models.
        rest: the URL of the REST API and the page.
        grpc: the address of the gRPC API.
    """

    models: Models
    rest: str
    grpc: str

    def rows(self) -> list[tuple[str, int, str]]:
        """Return the model, number and state of each version, with the error instead of the state after a failure."""
        versions = []
        for name in self.models.names:
            with contextlib.suppress(Failure):  # the model has no version yet
                versions += self.models.status(name)
        return [
            (version.model, version.number, version.error.message if version.error else version.state.name)
            for version in versions
        ]

    def curl(self) -> str:
        """Return an example command for the first available model; empty if no model is available."""
        for name in self.models.names:
            with contextlib.suppress(Failure):
                version = self.models.find(name)
                if version.writes_texts:
                    body = json.dumps({"model": name, "prompt": "Once upon a time", "stream": True})
                    return f"curl -N -d '{body}' {self.rest}/v1/completions"
                signature = version.signatures[DEFAULT]
                row = {key: _example(tensor) for key, tensor in signature.inputs.items()}
                body = json.dumps({"instances": [row if len(row) > 1 else next(iter(row.values()))]})
                return f"curl -d '{body}' {self.rest}/v1/models/{name}:predict"
        return ""


def _example(tensor: Tensor) -> object:
    """Return an example value for a row: a text, or zeros of the tensor's shape."""
    value: object = "some text" if tensor.dtype.name == "string" else tensor.dtype.as_numpy_dtype(0).item()
    for size in reversed((tensor.shape or ())[1:]):
        value = [value] * max(1, size)
    return value


SWITCH_SECONDS = 0.0005
# The time for which gRPC refuses new calls before it stops: calls that arrive during the stop would be cancelled.
REFUSAL_SECONDS = 0.5


def serve(path: Path, serving: Serving, announce: Callable[[Announcement], None]) -> None:
    """Serve models until SIGTERM or SIGINT, then answer accepted requests and return.

    The server follows changes at `path`: a model that is added to models.config, or as a folder, is served within
    `config_poll_seconds`.

    Args:
        path: a model's folder, a folder of models, or a models.config.
        serving: the server's settings.
        announce: called once, after the first attempt to load each model.

    Raises:
        ServingError: there is nothing to serve, a port is in use, or a file of the settings cannot be read.
    """
    config = models_config.read_config(path)
    # Leaves file descriptors for the server itself.
    max_connections = connections_within_limit(serving.max_connections, models=len(config.model_config_list.config))
    serving = dataclasses.replace(serving, max_connections=max_connections)
    # gRPC polls events in a thread, which needs the GIL quickly.
    sys.setswitchinterval(SWITCH_SECONDS)
    for library in ("grpc", "asyncio"):
        logging.getLogger(library).addHandler(_LogHandler())
        logging.getLogger(library).propagate = False
    parameters_path = batching_parameters.find(serving.batching, path)
    parameters = batching_parameters.read(parameters_path) if parameters_path else None
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(path, config, parameters, serving, announce))


async def _serve(
    path: Path,
    config: ModelServerConfig,
    parameters: BatchingParameters | None,
    serving: Serving,
    announce: Callable[[Announcement], None],
) -> None:
    stop_requested = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop_requested.set)
    metrics = Metrics()
    models = Models(serving, config, parameters=parameters, metrics=metrics)
    application = Application(models, serving, metrics=metrics, page=Page(models, litert_js=serving.litert_js))
    rest = RestServer(application, serving)
    rpc, rpc_address = _rpc_server(serving)
    health_service = add_services(rpc, models, serving, metrics=metrics)

    async def live() -> None:
        await models.start()
        gc.collect()
        gc.freeze()  # excludes long-lived objects from future collections
        announce(Announcement(models, rest.url, rpc_address))
        await _follow(path, config, models, serving)

    await asyncio.gather(rest.start(), rpc.start())
    live_task, health_task = asyncio.create_task(live()), asyncio.create_task(health_service.follow())
    stop_task = asyncio.create_task(stop_requested.wait())
    try:
        await asyncio.wait([live_task, stop_task], return_when=asyncio.FIRST_COMPLETED)
        if live_task.done():
            await live_task
    finally:
        log("draining")
        models.draining = True
        live_task.cancel()
        await asyncio.gather(rest.stop(), health_task, _stop(rpc, serving))
        await models.stop()
        log("ended")


async def _follow(path: Path, config: ModelServerConfig, models: Models, serving: Serving) -> None:
    """Apply changes of the configuration file or folder."""
    refused, on_disk = Problems("config_refused", path=path), Problems("problem_on_disk", path=path)
    while True:
        try:
            on_disk.report(*await asyncio.to_thread(models_config.ignored_links, path))
            now = await asyncio.to_thread(models_config.read_config, path)
            if now != config:
                config = now
                await models.reload(now)
        except (ServingError, Failure, OSError) as error:  # the current configuration stays
            refused.report(str(error))
        else:
            refused.report()
        await asyncio.sleep(serving.config_poll_seconds)


async def _stop(rpc: grpc.aio.Server, serving: Serving) -> None:
    await asyncio.sleep(REFUSAL_SECONDS)
    await rpc.stop(serving.grace_seconds)


class _LogHandler(logging.Handler):
    """A handler that logs records of libraries without their messages, which may quote a request."""

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[0].__name__ if record.exc_info and record.exc_info[0] else ""
        log("library_error", library=record.name, place=f"{record.pathname}:{record.lineno}", error=error)


def _rpc_server(serving: Serving) -> tuple[grpc.aio.Server, str]:
    server = grpc.aio.server(options=server_options(serving))
    address = f"{url_host(serving.host)}:{serving.grpc_port}"
    credentials = server_credentials(serving)
    try:
        port = server.add_secure_port(address, credentials) if credentials else server.add_insecure_port(address)
    except RuntimeError:
        why = "the address is in use, or does not belong to this machine"
        raise cannot_listen(serving.host, serving.grpc_port, key="grpc_port", why=why) from None
    return server, f"{url_host(serving.host)}:{port}"
