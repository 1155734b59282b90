"""Malformed requests in great number: the server must live, blame who sent them, and go on answering good ones."""

import contextlib
import http.client
import random
import socket
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import grpc
from grpc import StatusCode

from benchmarks.serving import malformed_messages
from benchmarks.serving.findings import Findings, responses, shown
from benchmarks.serving.malformed_http import http2, streams
from benchmarks.serving.malformed_json import Requests
from benchmarks.serving.probes import PATIENCE, SLOW_SECONDS, Connection, Good, SlowClients, place
from benchmarks.serving.running import Running, running
from tfattn.serving.models import model_store

CHECK_EVERY = 100
RAW = 8  # one in so many REST requests is bytes over a socket of its own
RAW_RPC = 50
GLANCE = 0.3  # seconds that a half-sent request is given to be answered


def main(model: Path, texts: Sequence[str], *, short: bool) -> None:
    """Prints outcomes and faults of 20,000 REST requests and 5,000 gRPC messages."""
    rest, rpc = (1000, 300) if short else (20_000, 5_000)
    version = model_store.find(str(model))
    start = time.monotonic()
    with running(version.parent, slow_client_seconds=SLOW_SECONDS) as server:
        findings = attack(server, version.parent.name, texts, rest=rest, rpc=rpc)
    print(f"{model}: {rest} REST requests and {rpc} gRPC messages in {time.monotonic() - start:.0f} s")
    for kind, count in sorted(findings.outcomes.items()):
        print(f"  {kind:28} {count:6}")
    print(f"good requests answered in between: {findings.checks}; faults: {len(findings.faults)}")
    print("\n".join(findings.faults[:20]))


def attack(server: Running, model: str, texts: Sequence[str], *, rest: int, rpc: int, seed: int = 0) -> Findings:
    """Sends so many requests of each kind, in random order, the same for the same seed."""
    source, findings = random.Random(seed), Findings()
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
