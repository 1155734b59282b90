"""The reason why a process ended is one line, without TensorFlow's log lines."""

import signal

import pytest

from tfattn.serving.engine import exit_reason as module
from tfattn.serving.engine.exit_reason import exit_reason, out_of_memory_kills

NATIVE = """\
WARNING: All log messages before absl::InitializeLog() is called are written to STDERR
I0000 00:00:1795356923.209703   13290 port.cc:153] oneDNN custom operations are on.
2031-05-06 07:08:09.123456: W tensorflow/core/framework/cpu_allocator_impl.cc:84] Allocation of 8 exceeds 10%.
E0000 00:00:1795356923.209703   13290 cuda_platform.cc:52] failed call to cuInit: UNKNOWN ERROR (303)
"""
TRACEBACK = """\
Traceback (most recent call last):
  File "worker.py", line 8, in main
    raise ValueError("first")
ValueError: first

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "worker.py", line 9, in main
    raise MemoryError
MemoryError: no room
"""


@pytest.mark.parametrize(
    ("exit_code", "errors", "expected"),
    [
        (-signal.SIGKILL, NATIVE, "SIGKILL"),
        (-signal.SIGSEGV, NATIVE, "SIGSEGV"),
        (-signal.SIGSEGV, "Fatal Python error: Segmentation fault\n" + NATIVE, "SIGSEGV: Fatal Python error: Segmenta"),
        (-signal.SIGABRT, "F0000 00:00:1795.2 13 a.cc:9] Check failed: 1 == 2\n", "SIGABRT: Check failed: 1 == 2"),
        (-signal.SIGABRT, "2031-05-06 07:08:09.1: F tensorflow/a.cc:3] Non-OK\n" + NATIVE, "SIGABRT: Non-OK"),
        (-signal.SIGILL, NATIVE, "SIGILL: the processor lacks an instruction of TensorFlow or LiteRT; set `engine`"),
        (1, NATIVE + TRACEBACK + NATIVE, "exit status 1: MemoryError: no room"),
        (1, "Traceback (most recent call last):\n", "exit status 1: Traceback"),
        (0, "", "exit status 0"),
        (-40, "", "signal 40"),
    ],
)
def test_the_reason_is_extracted(exit_code, errors, expected):
    assert exit_reason(exit_code, errors).startswith(expected)
    assert "port.cc" not in exit_reason(exit_code, errors)


def test_out_of_memory_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "VMSTAT", tmp_path / "vmstat")
    assert out_of_memory_kills() == 0
    (tmp_path / "vmstat").write_text("pgfault 7\noom_kill 3\n")
    assert out_of_memory_kills() == 3
    assert exit_reason(-signal.SIGKILL, "", out_of_memory=True) == "SIGKILL, as memory ran out"
    assert exit_reason(-signal.SIGKILL, "", killed_because="it hung", out_of_memory=True) == "SIGKILL, as it hung"
    assert exit_reason(1, "", out_of_memory=True) == "exit status 1"
