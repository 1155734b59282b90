"""Clients beside the attack: one that must always be answered, and slow ones that must not be waited for."""

import contextlib
import http.client
import json
import socket
from urllib.parse import urlsplit

import grpc
from tensorflow_serving.apis.predict_pb2 import PredictResponse

from benchmarks.serving.client import METHOD
from benchmarks.serving.load import rest_request, rpc_request
from benchmarks.serving.running import Running
from tests.serving.attack.findings import Findings, Response

PATIENCE = 30.0  # seconds without an answer that count as a hang
SLOW_CLIENTS = 20
SLOW_SECONDS = 2.0  # as the server is told


class Connection:
    """An HTTP connection, opened again where the server closes it; requests and answers are bytes.

    Args:
        url: where to.
    """

    def __init__(self, url: str):
        self._place = place(url)
        self._socket: socket.socket | None = None

    def ask(self, request: bytes) -> Response:
        """The answer to a whole request.

        Raises:
            OSError, HTTPException: there is none, or it is not HTTP.
        """
        if self._socket is None:
            self._socket = socket.create_connection(self._place, timeout=PATIENCE)
        try:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                self._socket.sendall(request)  # an answer may come before the request is whole
            response = http.client.HTTPResponse(self._socket, method=request.split(b" ", 1)[0].decode())
            response.begin()
            answer = Response(response.status, response.headers.get("content-type", ""), response.read())
        except BaseException:
            self.close()
            raise
        if response.will_close:
            self.close()
        return answer

    def close(self) -> None:
        """Closes it, if it is open."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None


class Good:
    """A request that must be answered at any time, over both protocols, and always alike."""

    def __init__(self, server: Running, channel: grpc.Channel, model: str, text: str):
        self._connection = Connection(server.rest)
        self._call = channel.unary_unary(METHOD)
        self._rest, self._rpc = rest_request(model, [text]), rpc_request(model, [text])
        self._expected = self._labels()

    def ask(self, findings: Findings) -> None:
        """Asks once more."""
        try:
            labels = self._labels()
        except (OSError, ValueError, KeyError, grpc.RpcError, http.client.HTTPException) as error:
            findings.faults.append(f"a good request is not answered: {error!r}")
            return
        findings.checks += 1
        if labels != self._expected:
            findings.faults.append(f"a good request is answered {labels}, not {self._expected}")

    def close(self) -> None:
        """Asks no more."""
        self._connection.close()

    def _labels(self) -> tuple[str, str]:
        (prediction,) = json.loads(self._connection.ask(self._rest).body)["predictions"]
        response = PredictResponse.FromString(self._call(self._rpc, timeout=PATIENCE))
        return prediction["label"], response.outputs["label"].string_val[0].decode()


class SlowClients:
    """Clients that send a byte of a request's head now and then, and as many that stop within the body."""

    def __init__(self, server: Running, model: str):
        self._place = place(server.rest)
        self._head = f"POST /v1/models/{model}:predict HTTP/1.1\r\nHost: localhost\r\nX: {'x' * 10_000}".encode()
        self._body = f"POST /v1/models/{model}:predict HTTP/1.1\r\nContent-Length: 100\r\n\r\n{{".encode()
        self._open = [self._connect(number) for number in range(SLOW_CLIENTS)]
        self._sent = 0

    def send_a_byte(self) -> None:
        """Goes on a little; whom the server has cut off comes back."""
        byte = self._head[self._sent : self._sent + 1]
        self._sent += 1
        for number in range(0, SLOW_CLIENTS, 2):
            try:
                self._open[number].send(byte)
            except OSError:
                self._open[number].close()
                self._open[number] = self._connect(number)

    def end(self, findings: Findings) -> None:
        """Waits until each has been told that it is too slow, or cut off."""
        for client in self._open:
            client.settimeout(SLOW_SECONDS + PATIENCE)
            try:
                client.recv(4096)
            except TimeoutError:
                findings.faults.append("a client that sends nothing more is waited for")
            except OSError:  # cut off with a reset
                pass
            client.close()

    def _connect(self, number: int) -> socket.socket:
        client = socket.create_connection(self._place, timeout=PATIENCE)
        if number % 2:
            client.sendall(self._body)
        return client


def place(address: str) -> tuple[str, int]:
    """Host and port of a URL, or of host:port."""
    parts = urlsplit(address if "//" in address else f"//{address}")
    return parts.hostname, parts.port
