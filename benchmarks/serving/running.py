"""A server as a process, for benchmarks and tests."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families


class Running:
    """A running server.

    Args:
        models: the models to serve, as for `tfattn serve`.
        settings: the settings of the server; by default it has free ports.

    Attributes:
        rest: the URL of REST.
        grpc: the address of gRPC.
        log: the file of its standard error.
    """

    def __init__(self, models: Path, **settings: object):
        settings = {"rest_port": 0, "grpc_port": 0} | settings
        options = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
        command = [sys.executable, "-m", "tfattn", "serve", str(models.absolute()), "--engine", "builtin", *options]
        handle, name = tempfile.mkstemp(prefix="server_", suffix=".log")
        self.log = Path(name)
        with os.fdopen(handle, "w") as log:
            self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the server does not start: {self.log.read_text()}")
        addresses = json.loads(line)
        self.rest, self.grpc = addresses["rest"], addresses["grpc"]

    @property
    def is_alive(self) -> bool:
        """Return whether the process is running."""
        return self._process.poll() is None

    @property
    def process_id(self) -> int:
        """Return the id of the front process, which answers requests."""
        return self._process.pid

    @property
    def memory(self) -> int:
        """Return the memory of the front process in bytes."""
        pages = int(Path(f"/proc/{self._process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    @property
    def processor_seconds(self) -> tuple[float, float]:
        """Return the CPU time of the front process and of the model processes."""
        return _processor_seconds(self._process.pid), sum(map(_processor_seconds, descendants(self._process.pid)))

    def get(self, path: str) -> bytes:
        """Send a GET request to REST."""
        with urllib.request.urlopen(f"{self.rest}{path}", timeout=30) as answer:
            return answer.read()

    def versions(self, model: str) -> dict[int, str]:
        """Return the state of each version."""
        found = json.loads(self.get(f"/v1/models/{model}"))["model_version_status"]
        return {int(version["version"]): version["state"] for version in found}

    def is_available(self, model: str) -> bool:
        """Return whether a version of a model is available."""
        listed = {entry["name"]: entry["versions"] for entry in json.loads(self.get("/models.json"))}
        return bool(listed.get(model))

    def figure(self, name: str) -> float:
        """Return the value of a metric, summed over labels."""
        families = text_string_to_metric_families(self.get("/monitoring/prometheus/metrics").decode())
        return sum(
            sample.value for family in families for sample in family.samples if sample.name in (name, f"{name}_total")
        )

    def end(self) -> int:
        """Stop the server, wait, and return its exit status."""
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(timeout=60)
        finally:
            self._process.kill()
            self._process.stdout.close()
        return self._process.wait()


def descendants(process: int | str) -> Iterator[str]:
    """Return the ids of all descendants of a process."""
    for thread in Path(f"/proc/{process}/task").iterdir():
        for child in (thread / "children").read_text().split():
            yield child
            yield from descendants(child)


def _processor_seconds(process: int | str) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def running(models: Path, **settings: object) -> Iterator[Running]:
    """Run a server during the block; its output is shown if the block fails."""
    server = Running(models, **settings)
    try:
        yield server
    except BaseException:
        print(server.log.read_text()[-5000:], file=sys.stderr)
        raise
    finally:
        server.end()
        server.log.unlink()


def wait_until(condition, *, seconds: float = 120, every: float = 0.02) -> None:
    """Wait until a condition is true, by polling every 20 ms by default.

    Raises:
        TimeoutError: the condition is not true in time.
    """
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"not within {seconds} s")
        time.sleep(every)
