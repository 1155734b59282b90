"""Real servers on free ports in threads, with models that compute with NumPy."""

import asyncio
import socket
import threading

import grpc
import uvicorn
from tensorflow_serving.apis.model_service_pb2_grpc import ModelServiceStub
from tensorflow_serving.apis.prediction_service_pb2_grpc import PredictionServiceStub

from tests.serving.stand_ins import Metrics
from tfattn.serving.page.page import Page
from tfattn.serving.protocols.rest.application import Application
from tfattn.serving.protocols.rest.http import http_protocol
from tfattn.serving.protocols.rpc.services import add_services, server_credentials, server_options
from tfattn.serving.section import Serving


class RpcServer:
    """A gRPC server for a `with` block.

    Attributes:
        models, metrics: its parts.
        prediction, model, channel: clients.
    """

    def __init__(self, models, **settings):
        self.serving = Serving(**{"rest_port": 0, "grpc_port": 0, **settings})
        self.models, self.metrics = models, Metrics()
        self.loop = asyncio.new_event_loop()
        self.port, self._failed = 0, None
        self._started = threading.Event()
        self._thread = threading.Thread(target=lambda: self.loop.run_until_complete(self._serve()))

    @property
    def host(self):
        return f"127.0.0.1:{self.port}"

    def do(self, function, *arguments):
        """Call a function on the server's event loop."""
        self.loop.call_soon_threadsafe(function, *arguments)

    def __enter__(self):
        self._thread.start()
        assert self._started.wait(10)
        if self._failed:
            self._thread.join()
            raise self._failed
        self.connect()
        return self

    def __exit__(self, *_):
        self.disconnect()
        self.do(self.stopping.set)
        self._thread.join(10)

    def connect(self):
        self.channel = grpc.insecure_channel(self.host)
        self.prediction = PredictionServiceStub(self.channel)
        self.model = ModelServiceStub(self.channel)

    def disconnect(self):
        self.channel.close()

    async def _serve(self):
        self.stopping = asyncio.Event()
        try:
            stop = await self.open()
        except Exception as error:
            self._failed = error
            return
        finally:
            self._started.set()
        await self.stopping.wait()
        await stop()

    async def open(self):
        server = grpc.aio.server(options=server_options(self.serving))
        health = add_services(server, self.models, self.serving, metrics=self.metrics)
        following = asyncio.create_task(health.follow())
        credentials = server_credentials(self.serving)
        address = f"127.0.0.1:{self.serving.grpc_port}"
        add_port = server.add_insecure_port
        self.port = server.add_secure_port(address, credentials) if credentials else add_port(address)
        await server.start()

        async def stop():
            following.cancel()
            await server.stop(None)

        return stop


class RestServer(RpcServer):
    """A REST server for a `with` block."""

    def connect(self):
        pass

    def disconnect(self):
        pass

    async def open(self):
        parts = {"metrics": self.metrics, "page": Page(self.models)}
        served = Application(self.models, self.serving, **parts)
        options = {"http": http_protocol(self.serving), "ws": "none", "lifespan": "off", "log_config": None}
        files = {"ssl_certfile": self.serving.tls_certificate, "ssl_keyfile": self.serving.tls_key}
        server = uvicorn.Server(uvicorn.Config(served, timeout_graceful_shutdown=1, **options, **files))
        listening = socket.create_server(("127.0.0.1", self.serving.rest_port))
        self.port = listening.getsockname()[1]
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        while not server.started and not serving.done():
            await asyncio.sleep(0.01)

        async def stop():
            server.should_exit = True
            await serving

        return stop
