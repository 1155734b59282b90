"""tensorflow_model_server gets the flags of the settings, checked with a stand-in program."""

import json
import os
import signal
import socket
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from google.protobuf import text_format
from tensorflow_serving.config.model_server_config_pb2 import ModelServerConfig

from tfattn.errors import ServingError
from tfattn.serving.section import Serving
from tfattn.serving.server import tensorflow_model_server

# The flags of TF Serving 2.19 that have to do with ours, as its main.cc lists them.
FLAGS = [
    "port",
    "rest_api_port",
    "rest_api_timeout_in_ms",
    "rest_api_enable_cors_support",
    "enable_batching",
    "batching_parameters_file",
    "allow_version_labels_for_unavailable_models",
    "model_config_file",
    "max_num_load_retries",
    "load_retry_interval_micros",
    "file_system_poll_wait_seconds",
    "tensorflow_session_parallelism",
    "ssl_config_file",
    "monitoring_config_file",
    "enable_grpc_healthcheck_service",
]

# Writes down its flags and the files that they name, listens on its port, ends upon SIGTERM.
STAND_IN = """\
    #!{python}
    import json, pathlib, signal, socket, sys
    known = {flags}
    if sys.argv[1:] == ["--help"]:
        print("usage: tensorflow_model_server\\nFlags:\\n" + "".join(f"\\t--{{name}}=0\\tint32\\n" for name in known))
        sys.exit(255)
    flags = dict(argument.removeprefix("--").split("=", 1) for argument in sys.argv[1:])
    assert set(flags) <= set(known), flags
    files = {{name: open(value).read() for name, value in flags.items() if name.endswith("_file")}}
    pathlib.Path({record!r}).write_text(json.dumps({{"flags": flags, "files": files}}))
    if {status}:
        sys.exit({status})
    listening = socket.create_server(("127.0.0.1", int(flags["port"])))
    signal.pause()
"""

# In a process of its own, as signals want it; prints what it announces.
SERVE = """
import json, sys
from pathlib import Path
from tfattn.errors import ServingError
from tfattn.serving.server import tensorflow_model_server
from tfattn.serving.section import Serving
settings = json.loads(sys.argv[2])
try:
    tensorflow_model_server.serve(
        Path(sys.argv[1]),
        Serving(**settings),
        lambda rest, grpc: print(json.dumps([rest, grpc]), flush=True),
    )
except ServingError as error:
    sys.exit(str(error))
"""


class Engine:
    """A PATH with a stand-in program, and a model to serve."""

    def __init__(self, folder: Path):
        self.record = folder / "record.json"
        self.models = folder / "models"
        (self.models / "reports/1").mkdir(parents=True)
        (self.models / "reports/1/saved_model.pb").touch()
        self._program = folder / tensorflow_model_server.NAME

    def install(self, *, flags: list[str] = FLAGS, status: int = 0) -> None:
        text = STAND_IN.format(python=sys.executable, flags=flags, record=str(self.record), status=status)
        self._program.write_text(textwrap.dedent(text))
        self._program.chmod(0o755)

    def start(self, **settings) -> subprocess.Popen:
        environment = {**os.environ, "PATH": f"{self._program.parent}:{os.environ['PATH']}"}
        return subprocess.Popen(
            [sys.executable, "-c", SERVE, self.models, json.dumps(settings)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, **settings) -> tuple[dict, dict, list, str]:
        """Return the flags, their files, the announced addresses and the notes."""
        process = self.start(**settings)
        announced = json.loads(process.stdout.readline())
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=20)
        assert process.returncode == 0, errors
        record = json.loads(self.record.read_text())
        return record["flags"], record["files"], announced, errors


@pytest.fixture
def engine(tmp_path) -> Engine:
    engine = Engine(tmp_path)
    engine.install()
    return engine


def test_the_program_is_found_on_the_path(engine, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert tensorflow_model_server.find() == tmp_path / "tensorflow_model_server"
    monkeypatch.setenv("PATH", str(tmp_path / "elsewhere"))
    assert tensorflow_model_server.find() is None


def test_supported_settings_become_flags(engine):
    batching = engine.models / "batching_parameters.txt"
    batching.write_text("max_batch_size { value: 32 }\n")
    flags, files, announced, _ = engine.run(
        rest_port=0,
        grpc_port=0,
        poll_seconds=5.0,
        load_retries=2,
        load_retry_seconds=1.5,
        labels_for_unavailable=True,
        timeout_seconds=2.5,
        cors=True,
        worker_threads=3,
    )
    assert announced == [f"http://127.0.0.1:{flags['rest_api_port']}", f"127.0.0.1:{flags['port']}"]
    assert (
        flags.items()
        >= {
            "file_system_poll_wait_seconds": "5",
            "max_num_load_retries": "2",
            "load_retry_interval_micros": "1500000",
            "allow_version_labels_for_unavailable_models": "true",
            "rest_api_timeout_in_ms": "2500",
            "rest_api_enable_cors_support": "true",
            "enable_batching": "true",
            "tensorflow_session_parallelism": "3",
            "enable_grpc_healthcheck_service": "true",
        }.items()
    )
    assert files["batching_parameters_file"] == batching.read_text()
    config = text_format.Parse(files["model_config_file"], ModelServerConfig())
    (model,) = config.model_config_list.config
    assert (model.name, model.base_path) == ("reports", str(engine.models / "reports"))
    assert files["monitoring_config_file"] == "prometheus_config { enable: true }\n"
    assert not Path(flags["model_config_file"]).exists()


def test_defaults_set_no_flags(engine):
    flags, _, _, errors = engine.run(rest_port=0, grpc_port=0)
    assert {
        "enable_batching",
        "batching_parameters_file",
        "rest_api_enable_cors_support",
        "ssl_config_file",
    }.isdisjoint(flags)
    assert "listens on all addresses, not only on 127.0.0.1" in errors
    assert "loads SavedModels that read files, write files or run code: serve only trusted models" in errors
    assert "does not support the settings: allow_operations, allowed_hosts, insecure, max_body_mib" in errors


def test_tls_disables_rest(engine, tmp_path):
    for name in ("certificate", "key"):
        (tmp_path / name).write_text(f"-----BEGIN-----\n{name}\n-----END-----\n")
    flags, files, announced, errors = engine.run(
        grpc_port=0, tls_certificate=str(tmp_path / "certificate"), tls_key=str(tmp_path / "key")
    )
    assert flags["rest_api_port"] == "0"
    assert announced[0] is None
    assert r'server_key: "-----BEGIN-----\nkey\n-----END-----\n"' in files["ssl_config_file"]
    assert "REST is off" in errors


def test_a_token_is_not_silently_ignored(engine, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ServingError, match=r"token_file: .* cannot check tokens\. Use the built-in server"):
        tensorflow_model_server.serve(engine.models, Serving(token_file=tmp_path), print)


def test_a_missing_program_suggests_the_built_in_server(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ServingError, match="tensorflow_model_server: it is not installed: .* --engine builtin"):
        tensorflow_model_server.serve(tmp_path, Serving(), print)


def test_unknown_flags_of_older_releases_are_omitted_and_reported(engine):
    engine.install(flags=[name for name in FLAGS if name != "enable_grpc_healthcheck_service"])
    flags, _, _, errors = engine.run(rest_port=0, grpc_port=0)
    assert "enable_grpc_healthcheck_service" not in flags
    assert "this release of tensorflow_model_server does not have: enable_grpc_healthcheck_service" in errors


def test_a_failure_of_the_program_is_reported(engine):
    engine.install(status=7)
    process = engine.start(rest_port=0, grpc_port=0)
    output, errors = process.communicate(timeout=20)
    assert "tensorflow_model_server: it failed; see its output above: received status 7" in errors
    assert process.returncode == 1
    assert not output


def test_ctrl_c_ends_both(engine):
    process = engine.start(rest_port=0, grpc_port=0)
    _, address = json.loads(process.stdout.readline())
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert process.returncode == 0
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(address.split(":"))
