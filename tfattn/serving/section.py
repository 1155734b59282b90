"""The settings of the built-in server: addresses, time limits and size limits."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

Port = Annotated[int, Field(ge=0, le=65535)]

# Where the built-in server answers otherwise than TF Serving, each of which can be switched off.
Deviation = Literal[
    "integer_range", "not_found_json", "bytes_as_b64", "keep_last_version", "health_paths", "browser_safety"
]


@dataclass(frozen=True, kw_only=True)
class Serving:
    """The built-in server's addresses and limits.

    Args:
        host: the address to listen on; 0.0.0.0 for all, beyond this machine.
        rest_port: the port for REST and the page; 0 takes a free one.
        grpc_port: the port for gRPC; 0 takes a free one.
        batching: a batching_parameters.txt, "beside" for the one beside the models where there is one, or "off".
        poll_seconds: how often the models' folders are looked through for versions.
        config_poll_seconds: how often models.config, or the folder of models, is looked through for models.
        load_seconds: how long a version may take to be loaded and warm.
        load_retries: how many more times a version that failed to load is tried.
        load_retry_seconds: the time between such tries, and the longest that a version waits whose process dies.
        allow_operations: the operations that a model may have although they do more than compute, such as ReadFile.
        labels_for_unavailable: whether a new label may be given to a version that is not available.
        timeout_seconds: how long a REST request may take to be answered; of texts that are written step by step, how
            long each next piece may take. A process that computes twice as long as this, and as a gRPC call's own
            deadline, hangs, and is replaced.
        max_body_mib: the largest request body, inflated, and the largest gRPC message, in MiB.
        max_gzip_ratio: how many times larger than its compressed form a body may be.
        max_nesting: how deep JSON may be nested; 0 for no limit but Python's own.
        max_rows: the most rows of one request.
        max_header_kib: the largest head of a request, in KiB.
        max_connections: the most connections at a time, of REST and of gRPC each.
        slow_client_seconds: how long a client may take to send a request's head, and between pieces of its body.
        cors: whether pages of other origins may ask.
        allowed_hosts: names of this server beyond localhost and `host`, such as models.example.org, *.example.org or *:
            requests that name another one are refused, unless a token is asked for.
        tls_certificate: a PEM file; with it both ports speak TLS only.
        tls_key: the certificate's private key, a PEM file.
        token_file: a file whose text every request must carry as `Authorization: Bearer`; health and metrics aside. It
            may be readable by its owner alone.
        insecure: whether it may listen beyond this machine without asking for a token.
        grace_seconds: how long accepted requests may take after SIGTERM.
        worker_threads: the threads of one version's process; 0 for one per CPU core.
        texts: of a model that writes texts step by step, how many it writes at a time.
        texts_waiting: how many more may wait; what comes beyond is refused at once.
        prefix_mib: how much is kept of what it has read and written, for prompts that begin alike, in MiB.
        log_requests: whether every request is logged, without its content.
        as_tf_serving: the improvements on TF Serving to switch off.

    Example:
        >>> Serving(rest_port=0, grpc_port=0).host
        '127.0.0.1'
    """

    host: str = "127.0.0.1"
    rest_port: Port = 8501
    grpc_port: Port = 8500
    batching: str = "beside"
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
    worker_threads: NonNegativeInt = 0
    texts: PositiveInt = 8
    texts_waiting: NonNegativeInt = 100
    prefix_mib: NonNegativeInt = 256
    log_requests: bool = False
    as_tf_serving: tuple[Deviation, ...] = ()
