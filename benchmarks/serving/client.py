"""A load client in a separate process, which shares no Python interpreter with the server or the benchmark.

    python -m benchmarks.serving.client < JOB > ANSWERS      SIGTERM: stop sending

JOB is written by `load.Load`. ANSWERS has a list per request: the times when it was due, sent and answered, and the
outcome: "OK", a gRPC status name, an HTTP status, or LOST for a request that was sent over an open connection and never
answered. Times are those of the monotonic clock of the system, which all processes share.
"""

import asyncio
import base64
import itertools
import json
import re
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

import grpc
import uvloop

METHOD = "/tensorflow.serving.PredictionService/Predict"
LOST = "LOST"
RETRY_SECONDS = 0.05
# The message of the gRPC library for a connection that ended during a request; the server sends other UNAVAILABLE.
BROKEN = re.compile("socket closed|connection reset|broken pipe|goaway|stream|transport|cancelling all calls", re.I)
LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)

Send = Callable[[bytes], Awaitable[str]]


def main() -> None:
    """Read the job, run it, and write the answers."""
    job = json.load(sys.stdin)
    requests = [base64.b64decode(request) for request in job["requests"]]
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        json.dump(runner.run(_answers(job, requests)), sys.stdout)


async def _answers(job: dict, requests: list[bytes]) -> list[tuple[float, float, float, str]]:
    connections = Connections(job["address"], job["timeout"])
    span = Span(job["seconds"])
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, span.stop)
    if job["rate"]:
        return await at_a_rate(job["rate"], requests, connections, span)
    clients = range(job["clients"])
    seen = await asyncio.gather(*(one_by_one(requests[n:] + requests[:n], connections, span) for n in clients))
    return sorted(itertools.chain.from_iterable(seen))


class Span:
    """A time span from now, which can be stopped."""

    def __init__(self, seconds: float):
        self.start = time.monotonic()
        self.end = self.start + seconds

    def stop(self) -> None:
        """Stop the span."""
        self.end = 0.0


async def one_by_one(requests: list[bytes], connections: "Connections", span: Span) -> list:
    """Run a client that sends the next request after the answer to the last, or a moment after a refusal."""
    answers, send, endless = [], connections.take(), itertools.cycle(requests)
    while (sent := time.monotonic()) < span.end:
        outcome = await send(next(endless))
        answers.append((sent, sent, time.monotonic(), outcome))
        if outcome != "OK":
            await asyncio.sleep(RETRY_SECONDS)
    return answers


async def at_a_rate(rate: float, requests: list[bytes], connections: "Connections", span: Span) -> list:
    """Run independent clients: requests are sent when they are due, regardless of earlier requests."""
    answers, tasks = [], set()

    async def ask(due: float, request: bytes) -> None:
        send = connections.take()
        sent = time.monotonic()
        outcome = await send(request)
        answers.append((due, sent, time.monotonic(), outcome))
        connections.give_back(send)

    numbered = enumerate(itertools.cycle(requests))
    while True:
        number, request = next(numbered)
        due = span.start + number / rate
        await asyncio.sleep(max(0, due - time.monotonic()))
        if due >= span.end:
            break
        task = asyncio.create_task(ask(due, request))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
    await asyncio.gather(*tasks)
    return sorted(answers)


class Connections:
    """Connections to a server, each used by one request or client at a time.

    Args:
        address: a URL for REST, host:port for gRPC.
        timeout: the timeout of a request.
    """

    def __init__(self, address: str, timeout: float):
        self._address, self._timeout = address, timeout
        self._free: list[Send] = []

    def take(self) -> Send:
        """Return a free connection."""
        if self._free:
            return self._free.pop()
        is_rest = self._address.startswith("http")
        return rest(self._address, self._timeout) if is_rest else rpc(self._address, self._timeout)

    def give_back(self, send: Send) -> None:
        """Return a connection to the free connections."""
        self._free.append(send)


def rpc(address: str, timeout: float) -> Send:
    """Return a function that sends serialized requests over a channel and waits for the connection."""
    channel = grpc.aio.insecure_channel(
        address,
        options=[
            ("grpc.use_local_subchannel_pool", 1),
            ("grpc.initial_reconnect_backoff_ms", 50),
            ("grpc.min_reconnect_backoff_ms", 50),
            ("grpc.max_reconnect_backoff_ms", 200),
        ],
    )
    call = channel.unary_unary(METHOD)

    async def send(request: bytes) -> str:
        try:
            await call(request, timeout=timeout, wait_for_ready=True)
        except grpc.aio.AioRpcError as error:
            return LOST if BROKEN.search(error.details() or "") else error.code().name
        return "OK"

    return send


def rest(address: str, timeout: float) -> Send:
    """Return a function that sends HTTP requests over a kept-alive connection, reopened if the server closes it."""
    url = urlsplit(address)
    connection: Connection | None = None

    async def send(request: bytes) -> str:
        nonlocal connection
        loop = asyncio.get_running_loop()
        end = loop.time() + timeout
        while connection is None or connection.is_closed:
            try:
                _, connection = await loop.create_connection(Connection, url.hostname, url.port)
            except OSError:
                if loop.time() > end:
                    return "UNREACHABLE"
                await asyncio.sleep(RETRY_SECONDS)
        try:
            async with asyncio.timeout_at(end):
                return await connection.send(request)
        except TimeoutError:
            connection.close()
            return "DEADLINE_EXCEEDED"

    return send


class Connection(asyncio.Protocol):
    """An HTTP connection with one request at a time."""

    def connection_made(self, transport: asyncio.Transport) -> None:
        self._transport, self._received, self.is_closed = transport, b"", False
        self._outcome: asyncio.Future[str] | None = None

    async def send(self, request: bytes) -> str:
        """Send a request and return the status of the answer."""
        self._outcome = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._outcome

    def close(self) -> None:
        """Abandon the answer."""
        self.is_closed = True
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, ended, body = self._received.partition(b"\r\n\r\n")
        if ended and len(body) >= int(LENGTH.search(head)[1]):
            self._received = b""
            self.is_closed = self.is_closed or b"connection: close" in head.lower()
            status = head[9:12].decode()
            if not self._outcome.done():
                self._outcome.set_result("OK" if status == "200" else status)

    def connection_lost(self, error: Exception | None) -> None:
        self.is_closed = True
        if self._outcome and not self._outcome.done():
            self._outcome.set_result(LOST)


if __name__ == "__main__":
    main()
