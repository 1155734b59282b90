"""A real HTTP server on a free port in a thread, with models that compute with NumPy."""

import asyncio
import contextlib
import http.client
import json
import socket
import ssl
import threading
import time
from collections.abc import Iterator

import pytest
import uvicorn
import uvloop

from tests.serving import stand_ins
from tfattn.serving.page.page import Page
from tfattn.serving.protocols.rest.application import Application
from tfattn.serving.protocols.rest.http import http_protocol
from tfattn.serving.section import Serving


class Models(stand_ins.Models):
    def version_labels(self, name):
        return dict(sorted(self.labels.get(name, {}).items()))


class Metrics(stand_ins.Metrics):
    def text(self):
        return b"# TYPE requests counter\n"


class Answer:
    """A response: its status, body and headers, with names in lower case."""

    def __init__(self, status, body, headers):
        self.status, self.body, self.headers = status, body, headers

    @property
    def json(self):
        assert self.headers["content-type"] == "application/json"
        return json.loads(self.body)

    @property
    def error(self):
        assert list(self.json) == ["error"]
        return self.json["error"]


class Server:
    """A server for tests, with methods to send requests."""

    def __init__(self, models, **settings):
        self.serving = Serving(**settings)
        self.models, self.metrics = models, Metrics()
        self.loop = None
        parts = {"metrics": self.metrics, "page": Page(models)}
        app = Application(models, self.serving, **parts)
        config = uvicorn.Config(
            app,
            http=http_protocol(self.serving),
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            ssl_certfile=self.serving.tls_certificate,
            ssl_keyfile=self.serving.tls_key,
            timeout_keep_alive=1,
            timeout_graceful_shutdown=5,
        )
        self.uvicorn = uvicorn.Server(config)
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.port = self.listening.getsockname()[1]

    def run(self):
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner, contextlib.suppress(asyncio.CancelledError):
            runner.run(self._serve())

    async def _serve(self):
        self.loop = asyncio.get_running_loop()
        self._task = asyncio.current_task()
        await self.uvicorn.serve(sockets=[self.listening])

    def kill(self):
        """Cancel the server without a graceful shutdown."""
        with contextlib.suppress(RuntimeError):  # it has ended
            self.do(self._task.cancel)

    def do(self, function, *arguments):
        """Call a function on the server's event loop."""
        self.loop.call_soon_threadsafe(function, *arguments)

    def ask(self, method, path, body=None, **headers) -> Answer:
        """Send a request on a new connection; `a_b=` is the header a-b."""
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)) as connection:
            return self.ask_on(connection, method, path, body, **headers)

    def ask_on(self, connection, method, path, body=None, **headers) -> Answer:
        if body is not None and not isinstance(body, (bytes, str, Iterator)):
            body = json.dumps(body)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body, named)
        response = connection.getresponse()
        return Answer(response.status, response.read(), {name.lower(): value for name, value in response.getheaders()})

    def post(self, path, body, **headers) -> Answer:
        return self.ask("POST", f"/v1/models/{path}", body, **headers)

    @contextlib.contextmanager
    def connected(self):
        with contextlib.ExitStack() as stack:
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", self.port), timeout=30))
            if self.serving.tls_certificate:
                context = ssl.create_default_context(cafile=self.serving.tls_certificate)
                connection = stack.enter_context(context.wrap_socket(connection, server_hostname="localhost"))
            yield connection

    def raw(self, *pieces, pause=0.0) -> bytes:
        """Send bytes and return all received bytes until the server closes the connection."""
        with self.connected() as connection:
            for piece in pieces:
                connection.sendall(piece)
                time.sleep(pause)
            return read_all(connection)


def read_all(connection) -> bytes:
    pieces = []
    with contextlib.suppress(ConnectionResetError):
        while piece := connection.recv(65536):
            pieces.append(piece)
    return b"".join(pieces)


def read_one(connection) -> Answer:
    """Read the next response, whose head and body may arrive separately."""
    received = b""
    while not received.partition(b"\r\n\r\n")[2]:
        piece = connection.recv(1000)
        assert piece, "the server closed the connection"
        received += piece
    return answers(received)[0]


def answers(received: bytes) -> list[Answer]:
    """Parse all responses in received bytes."""
    found = []
    while received:
        head, _, received = received.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        headers = {name.lower(): value.strip() for name, value in (line.split(":", 1) for line in lines)}
        length = int(headers["content-length"])
        found.append(Answer(int(first.split()[1]), received[:length], headers))
        received = received[length:]
    return found


def post(body: bytes, path="half_plus_two:predict", head=b"") -> bytes:
    """Return the bytes of a request."""
    line = f"POST /v1/models/{path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
    return line.encode() + head + b"\r\n" + body


@pytest.fixture
def serve():
    """Start servers, and stop them after the test."""
    with contextlib.ExitStack() as stack:
        yield lambda *models, **settings: stack.enter_context(_running(*models, **settings))


@pytest.fixture
def server(serve):
    return serve()


@contextlib.contextmanager
def _running(*versions, **settings):
    versions = versions or (stand_ins.half_plus_two(1), stand_ins.half_plus_two(2), stand_ins.sums())
    server = Server(Models(*versions, labels={"half_plus_two": {"stable": 1}}), **settings)
    thread = threading.Thread(target=server.run)
    thread.start()
    eventually(lambda: server.uvicorn.started)
    try:
        yield server
    finally:
        server.kill()
        thread.join(30)
        server.listening.close()
        assert not thread.is_alive()


def eventually(condition, seconds=30.0):
    """Wait until a condition is true."""
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "in vain"
        time.sleep(0.005)
