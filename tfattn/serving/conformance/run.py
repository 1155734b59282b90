"""The run of all checks against a server, and their results."""

import contextlib
import json
import signal
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tfattn.errors import ServingError
from tfattn.serving.conformance import (
    disk,
    fixtures,
    parsing,
    reload,
    responses,
    rpc,
    rpc_services,
    status_metadata,
    urls,
)
from tfattn.serving.conformance.check import DEVIATIONS, Check, Mismatch, Skipped, checks_of
from tfattn.serving.conformance.expect import Server
from tfattn.serving.conformance.rpc_services import SMALL_QUEUE

MODULES = (
    urls,
    parsing,
    responses,
    status_metadata,
    rpc,
    rpc_services,
    reload,
    disk,
)
CHECKS = sorted((check for module in MODULES for check in checks_of(module)), key=lambda check: check.row)
Outcome = Literal["ok", "deviation", "failed", "skipped"]


@dataclass(frozen=True)
class Result:
    """The result of a check.

    Attributes:
        check: the check.
        outcome: "ok" as TF Serving, an allowed "deviation", "failed", or "skipped".
        detail: the deviation; the expected and the received response; or what the check needs.
    """

    check: Check
    outcome: Outcome
    detail: str = ""

    def __str__(self) -> str:
        detail = f"\n{'':16}{self.detail}" if self.detail else ""
        return f"{self.check.row:>3}  {self.outcome:<9}  {self.check.what}{detail}"


def conformance(
    *,
    rest: str | None = None,
    grpc: str | None = None,
    models: Path | None = None,
    engine: str = "builtin",
    overrides: Sequence[str] = (),
) -> Iterator[Result]:
    """Run all checks on a server; without an address, on a server that is started.

    Args:
        rest: the REST address, such as http://127.0.0.1:8501.
        grpc: the gRPC address, such as 127.0.0.1:8500.
        models: the folder of the served fixture models, see `fixtures.write_models`. Checks add, hide and remove
            versions, and restore them.
        engine: the server to start: builtin or tensorflow_model_server.
        overrides: settings of the server to start, as in `tfattn serve --set`.

    Raises:
        ServingError: the server does not start, cannot be reached, or does not serve the fixture models.
    """
    with contextlib.ExitStack() as stack:
        if rest is None and grpc is None:
            models = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tfattn_models_")))
            fixtures.write_models(models)
            rest, grpc = stack.enter_context(started(models, engine, overrides))
        server = stack.enter_context(contextlib.closing(Server(rest=rest, grpc=grpc, models=models)))
        _serves_fixtures(server, has_rest=rest is not None)
        for check in CHECKS:
            yield run_check(check, server)


def run_check(check: Check, server: Server) -> Result:
    """Run a check."""
    try:
        deviation = check.run(server)
    except Mismatch as mismatch:
        return Result(check, "failed", str(mismatch))
    except Skipped as skipped:
        return Result(check, "skipped", str(skipped))
    except Exception as error:  # of an unexpected response
        return Result(check, "failed", f"expected a proper answer, received one that led to {error!r}")
    return Result(check, "deviation", f"{deviation} ({DEVIATIONS[deviation]})") if deviation else Result(check, "ok")


def summary(results: Iterable[Result]) -> str:
    """Return the numbers of outcomes as one line."""
    counts = Counter(result.outcome for result in results)
    return ", ".join(f"{counts[outcome]} {outcome}" for outcome in ("ok", "deviation", "failed", "skipped"))


def _serves_fixtures(server: Server, *, has_rest: bool) -> None:
    try:
        if has_rest:
            is_served = server.ask("GET", "/v1/models/half_plus_two").status == 200
        else:
            is_served = bool(server.available("half_plus_two"))
    except Mismatch as mismatch:
        raise ServingError("the server cannot be reached", received=mismatch.received) from None
    if not is_served:
        raise ServingError(
            "the server does not serve the fixture models",
            expected="half_plus_two, types, slow and on_disk",
            remedy="Write them with `tfattn conformance --write-models DIR` and serve DIR/models.config.",
        )


START_SECONDS = 300.0
END_SECONDS = 60.0
LAST_LINES = 15  # of the output of a server that does not start

# Short intervals, so that checks need not wait.
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
    """Serve a folder of models by `tfattn serve` on free ports until the block ends.

    Args:
        models: the folder.
        engine: builtin or tensorflow_model_server.
        overrides: settings, as in `tfattn serve --set`, in addition to `SETTINGS`.

    Yields:
        the REST address and the gRPC address.

    Raises:
        ServingError: the server does not start.
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
        # It reads labels before it has versions; and with batching it requires that every output has rows.
        return SETTINGS | {"batching": "off", "labels_for_unavailable": "true"}
    batching = scratch / "batching_parameters.txt"
    batching.write_text(SMALL_QUEUE)
    return SETTINGS | {"batching": batching}


def _addresses(process: subprocess.Popen, log) -> tuple[str, str]:
    """Read the line that the server prints once it is ready."""
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
