"""A process that has loaded TensorFlow as the parity check does, and forks for each check.

Loading TensorFlow takes most of the time of a check. The fork is as fresh as a new process: no operation has run in it.
"""

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock

FORKING = """
import json, os, runpy, sys, traceback

main = runpy.run_path(sys.argv[1], run_name="parity_worker")["main"]
for line in sys.stdin:
    arguments, errors, folder = json.loads(line)
    child = os.fork()
    if not child:
        status = 1
        try:
            os.dup2(os.open(errors, os.O_WRONLY), 2)
            os.chdir(folder)
            main(*arguments)
            status = 0
        except Exception:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


MAX_SECONDS = 240  # of a check: a fork can inherit a lock that is never released


class ParityProcess:
    """In place of the module `subprocess`, for the parity check alone."""

    def __init__(self):
        self._process: subprocess.Popen[str] | None = None

    def run(self, command: Sequence[str], *, env: dict[str, str], **options: Any) -> subprocess.CompletedProcess:
        """Run the worker in a fork."""
        *program, worker = command[:3]
        assert program == [sys.executable, "-I"]
        if self._process is None:
            forking = [*program, "-c", FORKING, worker]
            self._process = subprocess.Popen(
                forking, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
            )
        with tempfile.NamedTemporaryFile("r", errors="replace") as errors:
            self._process.stdin.write(json.dumps([command[3:], errors.name, os.getcwd()]) + "\n")
            self._process.stdin.flush()
            if not select.select([self._process.stdout], [], [], MAX_SECONDS)[0]:
                self._kill()
                return subprocess.run(command, env=env, **options)
            status = int(self._process.stdout.readline())
            return subprocess.CompletedProcess(command, status, "", errors.read())

    def end(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.communicate()

    def _kill(self) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._process = None


@contextmanager
def parity_in_forks() -> Iterator[None]:
    """Check exports in forks of one process while the block runs."""
    from tfattn.export import parity

    process = ParityProcess()
    with mock.patch.object(parity, "subprocess", process):
        yield
    process.end()
