"""Malformed requests in great number: the server must live, blame who sent them, and go on answering good ones."""

import contextlib
import http.client
import random
import socket
from collections.abc import Callable, Sequence

import grpc
import pytest
from grpc import StatusCode

from benchmarks.serving.running import Running
from tests.serving.attack import malformed_messages
from tests.serving.attack.findings import Findings, responses, shown
from tests.serving.attack.malformed_http import http2, streams
from tests.serving.attack.malformed_json import Requests
from tests.serving.attack.probes import PATIENCE, Connection, Good, SlowClients, place

pytestmark = pytest.mark.alone

CHECK_EVERY = 100
RAW = 8  # one in so many REST requests is bytes over a socket of its own
RAW_RPC = 50
GLANCE = 0.3  # seconds that a half-sent request is given to be answered


@pytest.mark.parametrize(("rest", "rpc"), [(300, 100), pytest.param(20_000, 5_000, marks=pytest.mark.slow)])
def test_malformed_requests_do_no_harm(server, texts, rest, rpc):
    findings = attack(server, "reports", texts, rest=rest, rpc=rpc)
    assert not findings.faults, "\n".join(findings.faults[:10])
    assert findings.checks == -(-(rest + rpc) // CHECK_EVERY)
    assert findings.outcomes["REST 400"] > findings.outcomes["REST 200"] > 0
    assert findings.outcomes["gRPC INVALID_ARGUMENT"] > findings.outcomes["gRPC OK"] > 0


def attack(server: Running, model: str, texts: Sequence[str], *, rest: int, rpc: int) -> Findings:
    """Sends so many requests of each kind, in random order, the same each time."""
    source, findings = random.Random(0), Findings()
    slow, connection = SlowClients(server, model), Connection(server.rest)
    with grpc.insecure_channel(server.grpc) as channel:
        good = Good(server, channel, model, texts[0])
        steps = _steps(server, connection, channel, model, texts, findings, source=source, rest=rest, rpc=rpc)
        for number, step in enumerate(steps, 1):
            step()
            if number % CHECK_EVERY == 0 or number == len(steps):
                slow.send_a_byte()
                good.ask(findings)
            if not server.is_alive:
                findings.faults.append(f"the server ended at request {number}")
                return findings
        good.close()
    connection.close()
    slow.end(findings)
    return findings


def _steps(
    server: Running,
    connection: Connection,
    channel: grpc.Channel,
    model: str,
    texts: Sequence[str],
    findings: Findings,
    *,
    source: random.Random,
    rest: int,
    rpc: int,
) -> list[Callable[[], None]]:
    requests = Requests(model, texts, source)
    raw = streams(requests, model, source)
    messages = malformed_messages.calls(model, texts, source)
    steps = [
        *[lambda: _body(connection, next(requests), findings)] * (rest - rest // RAW),
        *[lambda: _stream(server.rest, next(raw), findings, ends=source.random() < 0.9)] * (rest // RAW),
        *[lambda: _message(channel, *next(messages), findings)] * (rpc - rpc // RAW_RPC),
        *[lambda: _stream(server.grpc, http2(source), findings)] * (rpc // RAW_RPC),
    ]
    source.shuffle(steps)
    return steps


def _body(connection: Connection, request: bytes, findings: Findings) -> None:
    """A malformed body in a request that is HTTP all the same, and so must be answered."""
    try:
        findings.response("REST", request, connection.ask(request))
    except (OSError, http.client.HTTPException) as error:
        findings.faults.append(f"REST: no answer ({error!r}) to {shown(request)}")


def _stream(address: str, data: bytes, findings: Findings, *, ends: bool = True) -> None:
    """Bytes over a socket, which need not be answered; but what is answered in HTTP must be right."""
    received = b""
    with socket.create_connection(place(address), timeout=PATIENCE) as client, contextlib.suppress(OSError):
        client.sendall(data)
        if ends:
            client.shutdown(socket.SHUT_WR)
        client.settimeout(GLANCE)
        while part := client.recv(65536):
            received += part
    found = responses(received)
    for response in found:
        findings.response("socket", data, response)
    if not found:
        findings.outcomes["socket without an answer"] += 1


def _message(channel: grpc.Channel, method: str, data: bytes, findings: Findings) -> None:
    try:
        channel.unary_unary(method)(data, timeout=PATIENCE)
    except grpc.RpcError as error:
        findings.code(method, data, error.code(), error.details())
    else:
        findings.code(method, data, StatusCode.OK)
