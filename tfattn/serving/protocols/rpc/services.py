"""The gRPC services of a server, with its options and credentials."""

import ssl
from pathlib import Path

import grpc

from tfattn.errors import ServingError
from tfattn.serving.models.models import Models
from tfattn.serving.monitoring.metrics import Metrics
from tfattn.serving.protocols.rpc import grpc_health, prediction
from tfattn.serving.protocols.rpc.calls import HandlerFactory
from tfattn.serving.section import Serving

KEEPALIVE_SECONDS = 30  # of silence, after which the server pings a client
MIN_PING_SECONDS = 5  # between two pings of a client


def add_services(
    server: grpc.aio.Server, models: Models, serving: Serving, *, metrics: Metrics
) -> grpc_health.HealthService:
    """Add PredictionService, ModelService and health to a server that has not been started.

    Args:
        server: the server.
        models: the served models.
        serving: the server's settings.
        metrics: the server's metrics.

    Returns:
        The health service. Its `follow` must run as long as the server.

    Raises:
        ServingError: the token cannot be read.
    """
    factory, health_service = HandlerFactory(models, serving, metrics), grpc_health.HealthService(models)
    services = {**prediction.handlers(factory), grpc_health.NAME: grpc_health.handlers(health_service)}
    for name, handlers in services.items():
        # Registered methods would be slower: the server would test each of them on every call.
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(name, handlers),))
    return health_service


def server_options(serving: Serving) -> list[tuple[str, int]]:
    """Return the options for `grpc.aio.server`."""
    head = serving.max_header_kib * 1024
    return [
        ("grpc.so_reuseport", 0),  # otherwise a second server would silently share the port
        ("grpc.max_receive_message_length", serving.max_body_mib * 1024 * 1024),
        ("grpc.max_send_message_length", -1),
        ("grpc.max_metadata_size", head),
        ("grpc.absolute_max_metadata_size", head),
        ("grpc.max_allowed_incoming_connections", serving.max_connections),
        ("grpc.server_handshake_timeout_ms", int(serving.slow_client_seconds * 1000)),
        ("grpc.keepalive_time_ms", KEEPALIVE_SECONDS * 1000),
        ("grpc.keepalive_timeout_ms", int(serving.slow_client_seconds * 1000)),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.min_ping_interval_without_data_ms", MIN_PING_SECONDS * 1000),
    ]


def server_credentials(serving: Serving) -> grpc.ServerCredentials | None:
    """Load the TLS credentials of a server; return None for a server without TLS.

    Raises:
        ServingError: the certificate or key cannot be read, or they do not match.
    """
    if not serving.tls_certificate:
        return None
    certificate, key = Path(serving.tls_certificate), Path(serving.tls_key or serving.tls_certificate)
    try:
        # gRPC itself would only report that it cannot listen.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
        return grpc.ssl_server_credentials([(key.read_bytes(), certificate.read_bytes())])
    except OSError as error:
        raise ServingError(
            f"cannot use the TLS certificate ({error})",
            where=f"{certificate} and {key}",
            expected="a certificate and its private key in PEM files",
            remedy="Set both: --set tls_certificate=FILE --set tls_key=FILE.",
        ) from None
