"""Local worker processes: started, watched, and all started again when one of them is killed."""

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
LOOK_EVERY = 0.1  # seconds
GRACE = 10.0  # seconds for the others to end once a worker is gone
LAST_BYTES = 20_000  # of a failed worker's output, in which the reason is searched
OUTSIDE = (signal.SIGKILL, signal.SIGTERM)  # a process that these end has not printed the reason
TRACEBACK = "Traceback (most recent call last):"


def start_workers(count: int, command: Sequence[str], *, restarts: int = RESTARTS) -> int:
    """Run a command in `count` processes that find each other through TF_CONFIG, on loopback ports.

    The output of worker 0 is shown; of the others, only the reason of a failure. When a worker is killed (out of
    memory, say) the others are ended too, and all start again and resume from the last checkpoint. After an error that
    a worker reports, which would occur again, nothing is started again. SIGTERM and SIGINT are passed on to all.

    Args:
        count: the number of processes.
        command: the command of each of them.
        restarts: the most times that all are started again.

    Returns:
        the exit status: 0 if all ended well, else that of the first worker that did not.

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
            worker, code = min(failed.items(), key=lambda item: item[1])  # one that was killed comes first
            if code > 0:
                return code
            if attempt <= restarts:
                note(f"worker {worker} was ended by signal {-code}: all start again ({attempt} of {restarts})")
        return 128 - code


class _Workers:
    """One set of processes, from start to end."""

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
                # A group of its own: a terminal's Ctrl-C reaches it once, through us.
                start_new_session=True,
            )
            for index, output in enumerate(self._outputs)
        ]

    def watch(self, interruption: Interruption) -> dict[int, int]:
        """Wait until all have ended; return the exit codes, by worker, of those that failed first."""
        told = False
        try:
            while True:
                codes = [process.poll() for process in self._processes]
                failed = {worker: code for worker, code in enumerate(codes) if code}
                if interruption.signal and not told:
                    told = self._tell(interruption.signal)
                elif failed and not told:
                    self._show_end(min(failed, key=failed.get))
                    return failed
                elif None not in codes:
                    return failed
                time.sleep(LOOK_EVERY)
        finally:
            self._end()

    def _tell(self, number: int) -> bool:
        for process in self._processes:
            process.send_signal(number)
        return True

    def _end(self) -> None:
        self._tell(15)
        patience = time.monotonic() + GRACE
        for process in self._processes:
            try:
                process.wait(max(0.0, patience - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for output in self._outputs:
            if output:
                output.close()

    def _show_end(self, worker: int) -> None:
        output = self._outputs[worker]
        if output is None or -self._processes[worker].returncode in OUTSIDE:
            return
        size = output.seek(0, os.SEEK_END)
        output.seek(max(0, size - LAST_BYTES))
        note(f"worker {worker} ended with:\n{_reason(output.read().decode(errors='replace'))}")


def _reason(output: str) -> str:
    """Find the reason of a failure in a process's output: its errors, else the last traceback, else all of it."""
    told = [line for line in output.splitlines() if line.startswith("error: ")]
    return "\n".join(told) or output[max(0, output.rfind(TRACEBACK)) :].strip()


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports
