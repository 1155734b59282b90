"""Local worker processes, which are restarted together when a worker is killed."""

import json
import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Sequence
from typing import IO

from tfattn.console import note
from tfattn.training.interruption import Interruption

RESTARTS = 3
POLL_INTERVAL = 0.1  # seconds
GRACE_PERIOD = 10.0  # seconds between SIGTERM and SIGKILL
LAST_BYTES = 20_000  # of a failed worker's output, which are searched for the reason
EXTERNAL = (signal.SIGKILL, signal.SIGTERM)  # after these signals the output has no reason
TRACEBACK = "Traceback (most recent call last):"


def start_workers(count: int, command: Sequence[str], *, restarts: int = RESTARTS) -> int:
    """Run a command in `count` processes that find each other through TF_CONFIG, on loopback ports.

    The output of worker 0 is shown; of other workers, only the reason of a failure. When a worker is killed, such as
    for lack of memory, all other workers are ended, and all are restarted and resume from the last checkpoint. After an
    error that a worker reports, which would occur again, there is no restart. SIGTERM and SIGINT are passed on to all
    workers.

    Args:
        count: the number of processes.
        command: the command of each process.
        restarts: the maximum number of restarts.

    Returns:
        the exit status: 0 if all workers succeeded, else the status of the first that failed.

    Example:
        start_workers(2, [sys.executable, "-m", "tfattn", "train", "pipelines/factory_reports.yaml"])
    """
    with Interruption() as interruption:
        for attempt in range(1, restarts + 2):
            failed = _Workers(count, command).watch(interruption)
            if not failed:
                return 0
            if interruption.signal:
                return interruption.status
            worker, code = min(failed.items(), key=lambda item: item[1])  # a killed worker first: its code is negative
            if code > 0:
                return code
            if attempt <= restarts:
                note(f"worker {worker} was ended by signal {-code}: all workers restart ({attempt} of {restarts})")
        return 128 - code


class _Workers:
    """The processes of a cluster, from start to end."""

    def __init__(self, count: int, command: Sequence[str]):
        cluster = {"worker": [f"127.0.0.1:{port}" for port in _free_ports(count)]}
        self._outputs: list[IO[bytes] | None] = [None]
        self._outputs += [tempfile.TemporaryFile() for _ in range(count - 1)]  # noqa: SIM115 - closed in _end
        self._processes = [
            subprocess.Popen(
                list(command),
                env={
                    **os.environ,
                    "TF_CONFIG": json.dumps({"cluster": cluster, "task": {"type": "worker", "index": index}}),
                },
                stdout=output,
                stderr=output and subprocess.STDOUT,
                # In a new session, so that Ctrl-C of a terminal reaches it once, through this process.
                start_new_session=True,
            )
            for index, output in enumerate(self._outputs)
        ]

    def watch(self, interruption: Interruption) -> dict[int, int]:
        """Wait until all workers have ended or some have failed; return the exit codes of failed workers by index."""
        signaled = False
        try:
            while True:
                codes = [process.poll() for process in self._processes]
                failed = {worker: code for worker, code in enumerate(codes) if code}
                if interruption.signal and not signaled:
                    signaled = self._send(interruption.signal)
                elif failed and not signaled:
                    self._show_end(min(failed, key=failed.get))
                    return failed
                elif None not in codes:
                    return failed
                time.sleep(POLL_INTERVAL)
        finally:
            self._end()

    def _send(self, number: int) -> bool:
        for process in self._processes:
            process.send_signal(number)
        return True

    def _end(self) -> None:
        self._send(signal.SIGTERM)
        deadline = time.monotonic() + GRACE_PERIOD
        for process in self._processes:
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for output in self._outputs:
            if output:
                output.close()

    def _show_end(self, worker: int) -> None:
        output = self._outputs[worker]
        if output is None or -self._processes[worker].returncode in EXTERNAL:
            return
        size = output.seek(0, os.SEEK_END)
        output.seek(max(0, size - LAST_BYTES))
        note(f"worker {worker} ended with:\n{_reason(output.read().decode(errors='replace'))}")


def _reason(output: str) -> str:
    """Find the reason of a failure in a process's output: errors, else the last traceback, else the whole output."""
    errors = [line for line in output.splitlines() if line.startswith("error: ")]
    return "\n".join(errors) or output[max(0, output.rfind(TRACEBACK)) :].strip()


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [server.getsockname()[1] for server in sockets]
    for server in sockets:
        server.close()
    return ports
