"""The gRPC server: authentication, TLS, limits and robustness."""

import contextlib
import socket
import struct

import grpc
import pytest
from grpc import StatusCode
from grpc_health.v1.health_pb2 import HealthCheckRequest
from grpc_health.v1.health_pb2_grpc import HealthStub
from tensorflow_serving.apis.get_model_status_pb2 import GetModelStatusRequest
from tensorflow_serving.apis.model_service_pb2_grpc import ModelServiceStub

from tests.serving import certificate
from tests.serving.stand_ins import Models, half_plus_two
from tfattn.errors import ServingError
from tfattn.serving.protocols.rpc.services import server_credentials
from tfattn.serving.section import Serving


def asked():
    request = GetModelStatusRequest()
    request.model_spec.name = "half_plus_two"
    return request


@pytest.fixture
def guarded(start, tmp_path):
    (tmp_path / "token").write_text("s3cret\n")
    (tmp_path / "token").chmod(0o600)
    with start(Models(half_plus_two()), token_file=tmp_path / "token") as server:
        yield server


def test_clients_with_the_token_are_accepted(guarded, refused):
    status = guarded.model.GetModelStatus
    assert status(asked(), metadata=[("authorization", "Bearer s3cret")]).model_version_status
    for metadata in ([], [("authorization", "Bearer wrong")], [("authorization", "s3cret")]):
        code, message = refused(status, asked(), metadata=metadata)
        assert code == StatusCode.UNAUTHENTICATED and "bearer token" in message.lower()


def test_a_token_of_any_bytes_is_checked(guarded):
    answered = send(guarded, raw_call(PREDICT, metadata=[(b"authorization", b"Bearer \xff")]))
    assert b"grpc-status\x0216" in answered


def test_health_needs_no_token(guarded):
    assert HealthStub(guarded.channel).Check(HealthCheckRequest()).status == 1


def test_an_unreadable_token_fails_at_startup(start, tmp_path):
    with pytest.raises(ServingError, match="cannot read the token"), start(Models(), token_file=tmp_path / "none"):
        pass


def test_tls_with_a_certificate(start, tmp_path):
    written, key = certificate.make(tmp_path)
    with start(Models(half_plus_two()), tls_certificate=written, tls_key=key) as server:
        trusted = grpc.ssl_channel_credentials(written.read_bytes())
        with grpc.secure_channel(f"localhost:{server.port}", trusted) as channel:
            assert ModelServiceStub(channel).GetModelStatus(asked(), timeout=10).model_version_status
        with pytest.raises(grpc.RpcError):
            server.model.GetModelStatus(asked(), timeout=10)


def test_an_invalid_certificate_is_reported_with_a_remedy(tmp_path):
    written, key = certificate.make(tmp_path)
    (tmp_path / "other").mkdir()
    _, other_key = certificate.make(tmp_path / "other")
    for settings in ({"tls_key": None}, {"tls_key": tmp_path / "none"}, {"tls_key": other_key}):
        with pytest.raises(ServingError, match="cannot use the TLS certificate.*--set tls_key=FILE"):
            server_credentials(Serving(tls_certificate=written, **settings))
    assert server_credentials(Serving(tls_certificate=written, tls_key=key))
    assert server_credentials(Serving()) is None


def test_an_unknown_method_is_unimplemented(server, refused):
    for method in ("/tensorflow.serving.SessionService/SessionRun", "/tensorflow.serving.PredictionService/Foo", "/x"):
        assert refused(server.channel.unary_unary(method), b"")[0] == StatusCode.UNIMPLEMENTED


def test_a_second_server_does_not_share_the_port(server, start):
    from tfattn.serving.protocols.rpc.services import server_options

    second = grpc.server(None, options=server_options(Serving()))
    with pytest.raises(RuntimeError):
        second.add_insecure_port(server.host)


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def raw_call(path: bytes, *, metadata=(), body: bytes = b"\0\0\0\0\0") -> bytes:
    fields = [(b":method", b"POST"), (b":scheme", b"http"), (b":path", path), (b":authority", b"x")]
    fields += [(b"te", b"trailers"), (b"content-type", b"application/grpc"), *metadata]
    head = b"".join(b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value for name, value in fields)
    return b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, b"") + frame(1, 4, 1, head) + frame(0, 1, 1, body)


def send(server, sent: bytes) -> bytes:
    received = b""
    with socket.create_connection(("127.0.0.1", server.port)) as connection, contextlib.suppress(OSError):
        connection.sendall(sent)
        connection.settimeout(0.3)
        while more := connection.recv(4096):
            received += more
    return received


PREDICT = b"/tensorflow.serving.PredictionService/Predict"


@pytest.mark.parametrize(
    "sent",
    [
        raw_call(b"/\xff\xfe"),  # grpcio 1.84 and 1.85: the end of the whole server
        raw_call(b""),
        raw_call(PREDICT, metadata=[(b"authorization", b"\xff")]),
        raw_call(PREDICT, metadata=[(b"grpc-timeout", b"soon")]),
        raw_call(PREDICT, metadata=[(b"grpc-encoding", b"gzip")], body=b"\1\0\0\0\1x"),
        raw_call(PREDICT, body=b"\0\xff\xff\xff\xff"),
        raw_call(PREDICT, body=b"\0\0"),
        raw_call(PREDICT)[:60],
        b"GET / HTTP/1.1\r\n\r\n",
        bytes(range(256)) * 8,
    ],
)
def test_any_bytes_leave_the_server_running(server, sent):
    send(server, sent)
    assert server.model.GetModelStatus(asked(), timeout=10).model_version_status


def test_connections_beyond_the_limit_are_closed(start):
    with start(Models(half_plus_two()), max_connections=2) as server:
        address = ("127.0.0.1", server.port)
        with socket.create_connection(address), socket.create_connection(address) as second:
            second.settimeout(5)
            assert second.recv(9)  # it greets whom it takes
            with socket.create_connection(address) as third:
                third.settimeout(5)
                with contextlib.suppress(ConnectionResetError):
                    assert third.recv(9) == b""
