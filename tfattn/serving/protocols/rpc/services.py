"""All gRPC services of a server, with its options and credentials."""

import ssl
from pathlib import Path

import grpc

from tfattn.errors import ServingError
from tfattn.serving.models.models import Models
from tfattn.serving.monitoring.metrics import Metrics
from tfattn.serving.protocols.health import Health
from tfattn.serving.protocols.rpc import grpc_health, model, prediction
from tfattn.serving.protocols.rpc.calls import HandlerFactory
from tfattn.serving.section import Serving

KEEPALIVE_SECONDS = 30  # after which a silent client is asked whether it is there
MOST_OFTEN_SECONDS = 5  # between two such questions of a client


def add_services(
    server: grpc.aio.Server, models: Models, serving: Serving, *, metrics: Metrics, health: Health
) -> grpc_health.HealthService:
    """Add PredictionService, ModelService and health to a server that has not been started.

    Args:
        server: the server.
        models: what is served.
        serving: the settings.
        metrics: what counts.
        health: what the server says of itself.

    Returns:
        the service of health, whose `follow` runs as long as the server does.

    Raises:
        ServingError: the token cannot be read.
    """
    factory, health_service = HandlerFactory(models, serving, metrics, health), grpc_health.HealthService(health)
    services = {
        prediction.NAME: prediction.handlers(factory),
        model.NAME: model.handlers(factory),
        grpc_health.NAME: grpc_health.handlers(health_service),
    }
    for name, handlers in services.items():
        # Not as registered methods: each time that a call comes, the server would ask each of those.
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(name, handlers),))
    return health_service


def server_options(serving: Serving) -> list[tuple[str, int]]:
    """Make the options of a server for `grpc.aio.server`."""
    head = serving.max_header_kib * 1024
    return [
        ("grpc.so_reuseport", 0),  # or a second server would share the port in silence
        ("grpc.max_receive_message_length", serving.max_body_mib * 1024 * 1024),
        ("grpc.max_send_message_length", -1),
        ("grpc.max_metadata_size", head),
        ("grpc.absolute_max_metadata_size", head),
        ("grpc.max_allowed_incoming_connections", serving.max_connections),
        ("grpc.server_handshake_timeout_ms", int(serving.slow_client_seconds * 1000)),
        ("grpc.keepalive_time_ms", KEEPALIVE_SECONDS * 1000),
        ("grpc.keepalive_timeout_ms", int(serving.slow_client_seconds * 1000)),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.min_ping_interval_without_data_ms", MOST_OFTEN_SECONDS * 1000),
    ]


def server_credentials(serving: Serving) -> grpc.ServerCredentials | None:
    """Read the certificate of a server that uses TLS; None for one that does not.

    Raises:
        ServingError: certificate or key cannot be read, or they do not belong together.
    """
    if not serving.tls_certificate:
        return None
    certificate, key = Path(serving.tls_certificate), Path(serving.tls_key or serving.tls_certificate)
    try:
        # gRPC would only say that it cannot listen.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
        return grpc.ssl_server_credentials([(key.read_bytes(), certificate.read_bytes())])
    except OSError as error:
        raise ServingError(
            f"cannot use the TLS certificate ({error})",
            where=f"{certificate} and {key}",
            expected="a certificate and its private key, two PEM files",
            remedy="Give both: --set tls_certificate=FILE --set tls_key=FILE.",
        ) from None
