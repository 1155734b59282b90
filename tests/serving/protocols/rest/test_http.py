"""HTTP connections: malformed, too large, too slow, too many and pipelined requests."""

import ast
import contextlib
import inspect
import json
import random
import socket
import time

import pytest
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from tests.serving import certificate
from tests.serving.protocols.rest.conftest import answers, eventually, post, read_all, read_one
from tfattn.errors import ServingError
from tfattn.serving.protocols.rest import http, server
from tfattn.serving.protocols.rest.http import INTERNALS, MAX_PIPELINED

ROWS, PREDICTIONS = b'{"instances": [1.0]}', {"predictions": [2.5]}
LAST = b"Connection: close\r\n"


def works(server):
    assert server.post("half_plus_two:predict", ROWS).json == PREDICTIONS


def test_malformed_http(server):
    for garbage in (
        b"nonsense\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00",  # TLS where none is spoken
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nna me: x\r\n\r\n",
        b"GET http:// HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"CONNECT x:80 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        post(ROWS).replace(b"Content-Length: 20", b"Content-Length: -1"),
        post(ROWS).replace(b"Content-Length: 20", b"Content-Length: 99999999999999999999999"),
        post(ROWS, head=b"Content-Length: 21\r\n"),
        post(ROWS, head=b"Transfer-Encoding: chunked\r\n"),  # with a length: how requests are smuggled
    ):
        (answer,) = answers(server.raw(garbage))
        assert (answer.status, answer.error) == (400, "Malformed HTTP"), garbage
        assert answer.headers["connection"] == "close"
    works(server)


def test_a_body_that_breaks_off(server):
    head = b"POST /v1/models/half_plus_two:predict HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    (answer,) = answers(server.raw(head + b'5\r\n{"ins\r\n', b"nonsense\r\n", pause=0.05))
    assert (answer.status, answer.error) == (400, "Malformed HTTP")
    (answer,) = answers(server.raw(head.replace(b"Host", LAST + b"Host") + b"14\r\n" + ROWS + b"\r\n0\r\n\r\n"))
    assert answer.json == PREDICTIONS
    works(server)


def test_a_large_head(serve):
    server = serve(max_header_kib=4)
    message = "The head is larger than this server takes: 4 KiB"
    for head in (b"a: " + b"x" * 5000 + b"\r\n", b"abcdefgh: xxxxxxxx\r\n" * 300, b"a:\r\n" * 101):
        (answer,) = answers(server.raw(post(ROWS, head=head)))
        assert (answer.status, answer.error) == (431, message)
    (answer,) = answers(server.raw(b"GET /" + b"x" * 5000 + b" HTTP/1.1\r\n\r\n"))
    assert (answer.status, answer.error) == (431, message)
    endless = [b"GET / HTTP/1.1\r\na: " + b"x" * 3000, *[b"x" * 3000] * 3]
    (answer,) = answers(server.raw(*endless, pause=0.05))
    assert (answer.status, answer.error) == (431, message), "though the header does not end"
    (answer,) = answers(server.raw(post(ROWS, head=b"abc: xxx\r\n" * 80 + LAST)))
    assert answer.json == PREDICTIONS
    large = b'{"instances": [1.0], "more": "' + b"x" * 50_000 + b'"}'
    with server.connected() as connection:  # bodies are no heads, wherever the pieces begin and end
        for _ in range(3):
            request = post(large)
            for start in range(0, len(request), 7_001):
                connection.sendall(request[start : start + 7_001])
        connection.sendall(post(ROWS, head=LAST))
        assert [answer.status for answer in answers(read_all(connection))] == [200] * 4


def test_a_slow_head(serve):
    server = serve(slow_client_seconds=0.4)
    start = time.monotonic()
    with contextlib.suppress(ConnectionError):
        (answer,) = answers(server.raw(*(b"%c" % byte for byte in b"GET /v1/models"), pause=0.05))
        assert (answer.status, answer.error) == (408, "The head of the request came too slowly")
    assert time.monotonic() - start < 20
    assert server.raw() == b"", "who says nothing is told nothing"
    works(server)
    first = post(ROWS)
    received = server.raw(first, b"POST /v1", pause=0.1)
    assert [answer.status for answer in answers(received)] == [200, 408]
    received = server.raw(first, b"\r\n", pause=0.1)
    assert [answer.status for answer in answers(received)] == [200], "nor is one kept that sends no request"
    eventually(lambda: not server.uvicorn.server_state.connections)


def test_a_body_without_a_reader_has_a_time_limit(serve):
    server = serve(slow_client_seconds=0.4)
    request = post(b"x" * 100, path="../../nothing")
    assert [answer.status for answer in answers(server.raw(request[:-50]))] == [400]
    pieces = [request[:-50], *[b"x"] * 20]
    start = time.monotonic()
    with contextlib.suppress(ConnectionError):
        assert answers(server.raw(*pieces, pause=0.05))[0].status == 400
    assert time.monotonic() - start < 20
    patient = serve(slow_client_seconds=30)
    (_, answer) = answers(patient.raw(request[:-50], b"x" * 50 + post(ROWS, head=LAST), pause=0.1))
    assert answer.json == PREDICTIONS, "but if it does, the connection goes on"


def test_connections_are_counted(serve):
    server = serve(max_connections=2)
    with server.connected() as first, server.connected() as second:
        first.sendall(post(ROWS))
        assert read_one(first).json == PREDICTIONS
        for request in (post(ROWS), b""):
            (answer,) = answers(server.raw(request))
            assert (answer.status, answer.error) == (503, "The server has as many connections as it takes")
            assert answer.headers["connection"] == "close"
        second.sendall(post(ROWS))
        assert read_one(second).json == PREDICTIONS
    eventually(lambda: not server.uvicorn.server_state.connections)
    works(server)


def test_pipelined_requests(server):
    bodies = [json.dumps({"instances": [number]}).encode() for number in range(20)]
    received = answers(server.raw(b"".join(map(post, bodies)) + post(ROWS, head=LAST)))
    assert [answer.json["predictions"] for answer in received] == [[number / 2 + 2] for number in range(20)] + [[2.5]]


def test_requests_before_malformed_http_are_answered(server):
    version = server.models.find("half_plus_two")
    version.gate.clear()
    with server.connected() as connection:
        connection.sendall(post(ROWS) + b"nonsense\r\n\r\n")
        eventually(lambda: version.calls)
        server.do(version.gate.set)
        (answer,) = answers(read_all(connection))
    assert answer.json == PREDICTIONS and answer.headers["connection"] == "close"
    works(server)


def test_a_queue_that_breaks_off_or_does_not_end(server):
    version = server.models.find("half_plus_two")
    broken = post(b"").replace(b"Content-Length: 0", b"Transfer-Encoding: chunked") + b"nonsense\r\n"
    for more, expected in ((broken, 1), (post(ROWS) * 300, MAX_PIPELINED + 1)):
        server.do(version.gate.clear)
        with server.connected() as connection:
            connection.sendall(post(ROWS) + more)
            eventually(lambda: version.in_use)
            server.do(version.gate.set)
            received = answers(read_all(connection))
        assert [answer.json for answer in received] == [PREDICTIONS] * expected
    works(server)


def test_a_client_that_goes_with_requests_in_its_queue_is_noticed_and_nothing_is_logged(server, caplog, capfd):
    version = server.models.find("half_plus_two")
    server.do(version.gate.clear)
    with server.connected() as connection:
        connection.sendall(post(ROWS) * 3)
        eventually(lambda: version.in_use)
    eventually(lambda: version.cancelled == 1 and not version.in_use)
    server.do(version.gate.set)
    works(server)
    assert len(version.calls) == 2  # nobody waits for the others
    assert not caplog.records and "Traceback" not in capfd.readouterr().err


def test_tls(serve, tmp_path):
    path, key = certificate.make(tmp_path)
    server = serve(tls_certificate=str(path), tls_key=str(key), max_connections=1)
    (answer,) = answers(server.raw(post(ROWS, head=LAST)))
    assert answer.json == PREDICTIONS
    (answer,) = answers(server.raw(b"nonsense\r\n\r\n"))
    assert (answer.status, answer.error) == (400, "Malformed HTTP")
    with server.connected():
        assert answers(server.raw())[0].status == 503


def test_protocol_upgrades_are_ignored(server):
    for offer in (
        b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAAA\r\n",
        b"Connection: Upgrade\r\nupgrade : websocket\r\n".replace(b" :", b":"),
    ):
        with server.connected() as connection:
            connection.sendall(post(ROWS, head=offer))
            assert read_one(connection).json == PREDICTIONS
            connection.sendall(post(ROWS, head=LAST))
            assert answers(read_all(connection))[0].json == PREDICTIONS
    assert answers(server.raw(b"CONNECT / HTTP/1.1\r\nHost: localhost\r\n\r\nnot HTTP"))[0].status in (400, 404)


def test_a_client_that_does_not_read_is_disconnected(serve):
    server = serve(slow_client_seconds=0.3)
    body = json.dumps({"instances": [0.123456] * 10_000}).encode()
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(10)
        connection.connect(("127.0.0.1", server.port))
        with contextlib.suppress(ConnectionError):
            for _ in range(200):
                connection.sendall(post(body))
        eventually(lambda: not server.uvicorn.server_state.connections)
    works(server)


def test_old_http_and_closing(server):
    (answer,) = answers(server.raw(post(ROWS).replace(b"HTTP/1.1", b"HTTP/1.0")))
    assert answer.json == PREDICTIONS and answer.headers["connection"] == "close"


def test_any_bytes_are_answered_in_json(serve):
    server = serve(slow_client_seconds=0.5)
    chance = random.Random(7)
    good = post(ROWS, head=b"Content-Encoding: identity\r\nAccept: */*\r\n" + LAST)
    with contextlib.ExitStack() as stack:
        sent = []
        for _ in range(300):
            request = bytearray(good)
            for _ in range(chance.randint(1, 4)):
                place = chance.randrange(len(request))
                request[place : place + chance.randint(0, 3)] = chance.randbytes(chance.randint(0, 3))
            connection = stack.enter_context(server.connected())
            connection.sendall(request)
            sent.append((connection, request))
        statuses = set()
        for connection, request in sent:
            received = read_all(connection)
            for answer in answers(received):
                statuses.add(answer.status)
                assert answer.status < 500 and (answer.status == 200 or answer.error), request
            assert received, request
    assert {200, 400, 404, 408} <= statuses
    works(server)
    assert not any(code.name in ("INTERNAL", "UNKNOWN") for *_, code in server.metrics.requests)


def test_the_installed_release_has_all_internals():
    http.check_uvicorn()


def test_a_release_without_an_internal_is_refused(monkeypatch):
    monkeypatch.delattr(HttpToolsProtocol, "on_header")
    monkeypatch.setitem(INTERNALS, RequestResponseCycle, INTERNALS[RequestResponseCycle] | {"state"})
    message = f"lacks HttpToolsProtocol.on_header, RequestResponseCycle.state: .*received uvicorn {uvicorn.__version__}"
    with pytest.raises(ServingError, match=message):
        http.check_uvicorn()


def used(module, path: str) -> set[str]:
    """Return the attributes of `path`, such as `self.cycle`, that a module uses."""
    nodes = ast.walk(ast.parse(inspect.getsource(module)))
    return {node.attr for node in nodes if isinstance(node, ast.Attribute) and ast.unparse(node.value) == path}


@pytest.mark.parametrize(
    ("kind", "module", "paths", "ours"),
    [
        (HttpToolsProtocol, http, ["self", "super()"], http.HttpProtocol),
        (RequestResponseCycle, http, ["self.cycle"], None),
        (uvicorn.Server, server, ["self"], server.RestServer),
        (ServerState, server, ["self.server_state"], None),
    ],
)
def test_all_used_internals_are_listed(kind, module, paths, ours):
    attributes = set(vars(ours) if ours else ()).union(*(used(module, path) for path in paths))
    assert attributes & http.attributes(kind) - set(dir(object)) - {"__module__"} == INTERNALS[kind]
