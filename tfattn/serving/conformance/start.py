"""A server of our own to be tested: `tfattn serve`, as a user starts it, on free ports."""

import contextlib
import json
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from tfattn.errors import ServingError
from tfattn.serving.conformance.rpc_load import SMALL_QUEUE

START_SECONDS = 300.0
END_SECONDS = 60.0
LAST_LINES = 15  # of what a server said that does not start

# Impatient settings, so that what a server does after a while can be seen soon.
SETTINGS: dict[str, object] = {
    "rest_port": 0,
    "grpc_port": 0,
    "poll_seconds": 0.2,
    "load_retries": 1,
    "load_retry_seconds": 0.2,
    "timeout_seconds": 4,
    "cors": "true",
}


@contextlib.contextmanager
def started(models: Path, engine: str, overrides: Sequence[str] = ()) -> Iterator[tuple[str, str]]:
    """Serve a folder of models until the block ends.

    Args:
        models: the folder.
        engine: builtin or tensorflow_model_server.
        overrides: settings, as `tfattn serve --set` takes them, beside and above those of `SETTINGS`.

    Yields:
        the address of REST and the address of gRPC.

    Raises:
        ServingError: it does not start.
    """
    with tempfile.TemporaryDirectory(prefix="tfattn_conformance_") as scratch:
        settings = [f"{key}={value}" for key, value in _settings(engine, Path(scratch)).items()]
        options = [f"--set={setting}" for setting in (*settings, *overrides)]
        command = [sys.executable, "-m", "tfattn", "serve", str(models), "--engine", engine, *options]
        with open(Path(scratch) / "log", "w+") as log:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
            try:
                yield _addresses(process, log)
            finally:
                _end(process)


def _settings(engine: str, scratch: Path) -> dict[str, object]:
    if engine == "tensorflow_model_server":
        # It knows no versions yet as it reads the labels; and where it batches it wants rows of every answer.
        return SETTINGS | {"batching": "off", "labels_for_unavailable": "true"}
    batching = scratch / "batching_parameters.txt"
    batching.write_text(SMALL_QUEUE)
    return SETTINGS | {"batching": batching}


def _addresses(process: subprocess.Popen, log) -> tuple[str, str]:
    """Read the line that a server prints once it is ready."""
    too_late = threading.Timer(START_SECONDS, process.kill)
    too_late.start()
    try:
        line = process.stdout.readline()
    finally:
        too_late.cancel()
    try:
        said = json.loads(line)
        return said["rest"], said["grpc"]
    except (ValueError, KeyError, TypeError):
        log.seek(0)
        raise ServingError(
            "the server does not start",
            expected=f"a line of JSON with its addresses within {START_SECONDS:g} s",
            received="".join([line, *log.readlines()[-LAST_LINES:]]).strip() or "nothing",
        ) from None


def _end(process: subprocess.Popen) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    process.stdout.close()
