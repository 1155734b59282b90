"""The section `serving`: addresses, time limits and size limits of the built-in server."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

from tfattn.litert import Engine

Port = Annotated[int, Field(ge=0, le=65535)]

# The deviations of the built-in server from TF Serving, each of which can be disabled.
Deviation = Literal[
    "integer_range", "not_found_json", "bytes_as_b64", "keep_last_version", "health_paths", "browser_safety"
]


@dataclass(frozen=True, kw_only=True)
class Serving:
    """The built-in server's addresses and limits.

    Args:
        host: the address to listen on; 0.0.0.0 for all addresses, including other machines.
        rest_port: the port for REST and the page; 0 selects a free port.
        grpc_port: the port for gRPC; 0 selects a free port.
        batching: a batching_parameters.txt, "auto" for the file next to the models, if any, or "off".
        poll_seconds: the interval between scans of the models' folders for versions.
        config_poll_seconds: the interval between scans of models.config, or the folder of models, for models.
        load_seconds: the time limit for loading and warming up a version.
        load_retries: the number of retries of a version that fails to load.
        load_retry_seconds: the time between retries, and the maximum backoff of a version whose process dies.
        allow_operations: the operations to allow although they have side effects, such as ReadFile.
        labels_for_unavailable: whether a new label may refer to a version that is not available.
        timeout_seconds: the time limit of a REST request; for generated text, the time limit of each next piece. A
            process that computes for twice this time, or twice the deadline of a gRPC call, is replaced.
        max_body_mib: the maximum size of a request body after decompression, and of a gRPC message, in MiB.
        max_gzip_ratio: the maximum compression ratio of a body.
        max_nesting: the maximum nesting of JSON; 0 for only Python's own limit.
        max_rows: the maximum number of rows of a request.
        max_header_kib: the maximum size of a request's head, in KiB.
        max_connections: the maximum number of concurrent connections, for REST and gRPC each.
        slow_client_seconds: the time limit for a request's head, and between parts of its body.
        cors: whether pages of other origins may send requests.
        allowed_hosts: names of this server in addition to localhost and `host`, such as models.example.org,
            *.example.org or *. Requests for other names are refused, unless the server needs a token.
        tls_certificate: a PEM file, which enables TLS on both ports.
        tls_key: the certificate's private key, a PEM file.
        token_file: a file with the token that requests must carry as `Authorization: Bearer`, except for health and
            metrics. Only its owner may be able to read it.
        insecure: whether to listen beyond this machine without a token.
        grace_seconds: the time limit for accepted requests after SIGTERM.
        engine: what computes the models: "tensorflow", "litert" for exports with a LiteRT file, or "auto" for LiteRT if
            the file can be used.
        litert_js: the folder with the packages of LiteRT.js, such as node_modules/@litertjs, for the page
            /litert.html, which runs classifiers in the browser; empty for none.
        worker_threads: the threads of a version's process; 0 for one per CPU core.
        texts: the number of texts that a language model generates at a time.
        texts_waiting: the maximum number of waiting texts; further requests are refused.
        prefix_mib: the size of the prefix cache of a language model, in MiB.
        log_requests: whether to log every request, without its content.
        as_tf_serving: the deviations from TF Serving to disable.

    Example:
        >>> Serving(rest_port=0, grpc_port=0).host
        '127.0.0.1'
    """

    host: str = "127.0.0.1"
    rest_port: Port = 8501
    grpc_port: Port = 8500
    batching: str = "auto"
    poll_seconds: PositiveFloat = 1.0
    config_poll_seconds: PositiveFloat = 5.0
    load_seconds: PositiveFloat = 600.0
    load_retries: NonNegativeInt = 5
    load_retry_seconds: NonNegativeFloat = 60.0
    allow_operations: tuple[str, ...] = ()
    labels_for_unavailable: bool = False
    timeout_seconds: PositiveFloat = 30.0
    max_body_mib: PositiveInt = 16
    max_gzip_ratio: PositiveInt = 200
    max_nesting: NonNegativeInt = 100
    max_rows: PositiveInt = 10_000
    max_header_kib: PositiveInt = 16
    max_connections: PositiveInt = 1000
    slow_client_seconds: PositiveFloat = 20.0
    cors: bool = False
    allowed_hosts: tuple[str, ...] = ()
    tls_certificate: str | None = None
    tls_key: str | None = None
    token_file: str | None = None
    insecure: bool = False
    grace_seconds: PositiveFloat = 30.0
    engine: Engine = "auto"
    litert_js: str = ""
    worker_threads: NonNegativeInt = 0
    texts: PositiveInt = 8
    texts_waiting: NonNegativeInt = 100
    prefix_mib: NonNegativeInt = 256
    log_requests: bool = False
    as_tf_serving: tuple[Deviation, ...] = ()
