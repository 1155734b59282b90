"""tensorflow_model_server, started with the flags that correspond to the server's settings."""

import contextlib
import json
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from google.protobuf import text_format

from tfattn.console import note
from tfattn.errors import ServingError
from tfattn.serving.engine import batching_parameters
from tfattn.serving.models.models_config import read_config
from tfattn.serving.section import Serving

NAME = "tensorflow_model_server"
WITHOUT_EFFECT = (
    "allow_operations",
    "allowed_hosts",
    "insecure",
    "max_body_mib",
    "max_gzip_ratio",
    "max_nesting",
    "max_rows",
    "max_header_kib",
    "max_connections",
    "slow_client_seconds",
    "grace_seconds",
    "log_requests",
    "engine",
    "litert_js",
)
POLL_SECONDS = 0.1

Announce = Callable[[str | None, str], None]


def find() -> Path | None:
    """Return the path of the program; None if it is not on the PATH."""
    path = shutil.which(NAME)
    return Path(path) if path else None


def is_selected(engine: str) -> bool:
    """Return whether `--engine` selects it: by its name, or by "auto" if it is installed."""
    return engine == NAME or (engine == "auto" and find() is not None)


def serve(path: Path, serving: Serving, announce: Announce) -> None:
    """Run the program until it ends. SIGTERM and SIGINT are forwarded to it.

    Args:
        path: the path of the models, like for the built-in server.
        serving: the server's settings. A note lists settings that the program does not support.
        announce: called once the program is ready, with the REST address (None if REST is off) and the gRPC address.

    Raises:
        ServingError: the program is not installed, the settings require a token, or the program fails.
    """
    program = find()
    if program is None:
        raise ServingError(
            "it is not installed",
            where=NAME,
            expected="this program on the PATH",
            remedy="Use the built-in server: --engine builtin.",
        )
    if serving.token_file:
        raise ServingError(
            f"{NAME} cannot check tokens", where="token_file", remedy="Use the built-in server: --engine builtin."
        )
    with tempfile.TemporaryDirectory(prefix="tfattn_serve_") as scratch:
        flags = {**_port_flags(serving, Path(scratch)), **_model_flags(path, serving, Path(scratch))}
        known = _known_flags(program)
        for line in _notes(serving, sorted(set(flags) - known)):
            note(line)
        command = [str(program), *(f"--{name}={value}" for name, value in flags.items() if name in known)]
        rest = f"http://127.0.0.1:{flags['rest_api_port']}" if flags["rest_api_port"] else None
        with _running(command) as (process, signals):
            if _wait_until_listening(process, flags["port"]):
                announce(rest, f"127.0.0.1:{flags['port']}")
            status = process.wait()
    if status and not signals:
        raise ServingError("it failed; see its output above", where=NAME, received=f"status {status}")


def _port_flags(serving: Serving, scratch: Path) -> dict[str, int | Path]:
    """Return the flags of ports and TLS. The program supports TLS for gRPC only, so TLS disables REST."""
    flags = {"port": serving.grpc_port or _free_port(), "rest_api_port": serving.rest_port or _free_port()}
    if not serving.tls_certificate:
        return flags
    texts = {"server_key": serving.tls_key, "server_cert": serving.tls_certificate}
    ssl = scratch / "ssl.config"
    # An ASCII JSON string is also a valid string in the text format of protocol buffers.
    ssl.write_text("".join(f"{name}: {json.dumps(Path(path).read_text())}\n" for name, path in texts.items()))
    return flags | {"rest_api_port": 0, "ssl_config_file": ssl}


def _model_flags(path: Path, serving: Serving, scratch: Path) -> dict[str, object]:
    """Return the flags of models, loading, time limits and batching."""
    models, monitoring = scratch / "models.config", scratch / "monitoring.config"
    models.write_text(text_format.MessageToString(read_config(path)))
    monitoring.write_text("prometheus_config { enable: true }\n")
    flags: dict[str, object] = {
        "model_config_file": models,
        "monitoring_config_file": monitoring,
        "file_system_poll_wait_seconds": max(1, round(serving.poll_seconds)),
        "max_num_load_retries": serving.load_retries,
        "load_retry_interval_micros": round(serving.load_retry_seconds * 1e6),
        "rest_api_timeout_in_ms": round(serving.timeout_seconds * 1e3),
        "enable_grpc_healthcheck_service": "true",
    }
    if batching := batching_parameters.find(serving.batching, path):
        flags |= {"enable_batching": "true", "batching_parameters_file": batching.absolute()}
    if serving.labels_for_unavailable:
        flags["allow_version_labels_for_unavailable_models"] = "true"
    if serving.cors:
        flags["rest_api_enable_cors_support"] = "true"
    if serving.worker_threads:
        flags["tensorflow_session_parallelism"] = serving.worker_threads
    return flags


def _notes(serving: Serving, unknown: list[str]) -> Iterator[str]:
    if serving.host != "0.0.0.0":
        yield f"{NAME} listens on all addresses, not only on {serving.host}: keep its ports behind a firewall"
    yield f"{NAME} loads SavedModels that read files, write files or run code: serve only trusted models"
    yield f"{NAME} does not support the settings: {', '.join(WITHOUT_EFFECT)}"
    if serving.tls_certificate:
        yield f"{NAME} supports TLS for gRPC only: REST is off"
    if unknown:
        yield f"this release of {NAME} does not have: {', '.join(unknown)}"


def _known_flags(program: Path) -> set[str]:
    """Return the flags of the installed release. Older releases lack some flags and fail on unknown flags."""
    usage = subprocess.run([program, "--help"], capture_output=True, text=True)
    return set(re.findall(r"--(\w+)=", usage.stdout + usage.stderr))


@contextlib.contextmanager
def _running(command: list[str]) -> Iterator[tuple[subprocess.Popen, list[int]]]:
    """Yield the running process, and the list of signals forwarded to it."""
    processes: list[subprocess.Popen] = []
    signals: list[int] = []

    def pass_on(number: int, _: object) -> None:
        signals.append(number)
        for process in processes:
            process.send_signal(number)

    before = {number: signal.signal(number, pass_on) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        processes.append(subprocess.Popen(command))
        if signals:  # a signal arrived before the process started
            processes[0].send_signal(signals[-1])
        yield processes[0], signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _wait_until_listening(process: subprocess.Popen, port: object) -> bool:
    """Wait until the program listens, after it has loaded its first versions; return False if it ends before."""
    while process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", int(port)), timeout=1):
            return True
        time.sleep(POLL_SECONDS)
    return False


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]
