"""Local workers (tiny scripts): start, restart and end of a cluster."""

import json
import os
import signal
import sys
import threading
import time

import pytest

from tfattn.training import workers
from tfattn.training.workers import start_workers

HEAD = "import json, os, signal, sys, time; index = json.loads(os.environ['TF_CONFIG'])['task']['index']\n"


@pytest.fixture
def script(tmp_path, monkeypatch):
    """Return a function that writes a worker script and returns its command."""
    monkeypatch.chdir(tmp_path)

    def write(body):
        (tmp_path / "worker.py").write_text(HEAD + body)
        return [sys.executable, "worker.py"]

    return write


def test_workers_have_the_same_cluster(script, tmp_path):
    command = script("open(f'seen-{index}', 'w').write(os.environ['TF_CONFIG'])")
    assert start_workers(3, command) == 0
    seen = [json.loads((tmp_path / f"seen-{index}").read_text()) for index in range(3)]
    assert [each["task"] for each in seen] == [{"type": "worker", "index": index} for index in range(3)]
    assert len(set(seen[0]["cluster"]["worker"])) == 3
    assert all(each["cluster"] == seen[0]["cluster"] for each in seen)


def test_a_killed_worker_restarts_all(script, tmp_path, capfd):
    command = script(
        "again = os.path.exists('killed')\n"
        "if index == 1 and not again: open('killed', 'w'); os.kill(os.getpid(), 9)\n"
        "time.sleep(0 if again else 60)\n"
    )
    begin = time.monotonic()
    assert start_workers(2, command) == 0
    assert time.monotonic() - begin < 40
    assert "worker 1 was ended by signal 9: all workers restart (1 of 3)" in capfd.readouterr().err


def test_restarts_are_limited(script, tmp_path):
    command = script("open(f'start-{time.time_ns()}', 'w'); os.kill(os.getpid(), 9)")
    assert start_workers(1, command, restarts=2) == 128 + 9
    assert len(list(tmp_path.glob("start-*"))) == 3


def test_a_reported_error_is_shown_without_restart(script, tmp_path, capfd):
    command = script("open(f'start-{index}-{time.time_ns()}', 'w')\nif index: sys.exit('no such file')\ntime.sleep(60)")
    assert start_workers(2, command) == 1
    assert len(list(tmp_path.glob("start-1-*"))) == 1
    assert "worker 1 ended with:\nno such file" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("print('E0000 cuda', 'error: no such file', 'E0000 gone', sep=chr(10)); sys.exit(1)", "error: no such file"),
        ("print('E0000', 'cuda'); [][0]", "Traceback (most recent call last):"),
        ("print('F0000 Check failed'); sys.stdout.flush(); os.abort()", "F0000 Check failed"),
    ],
)
def test_a_failed_worker_is_shown_with_its_reason(script, capfd, body, told):
    start_workers(2, script(f"if index: {body}\ntime.sleep(60)"), restarts=0)
    shown = capfd.readouterr().err
    assert f"worker 1 ended with:\n{told}" in shown
    assert "E0000 cuda" not in shown
    assert ("IndexError: list index out of range" in shown) == ("Traceback" in told)


def test_the_reason_of_a_killed_worker_is_the_signal(script, capfd):
    command = script("if index: print('E0000 cuda', flush=True); os.kill(os.getpid(), 9)\ntime.sleep(60)")
    start_workers(2, command, restarts=1)
    shown = capfd.readouterr().err
    assert "worker 1 was ended by signal 9" in shown and "E0000" not in shown


def test_a_worker_that_does_not_end_by_itself_is_killed(script, tmp_path, monkeypatch):
    monkeypatch.setattr(workers, "GRACE_PERIOD", 0.5)
    command = script(
        "signal.signal(15, signal.SIG_IGN)\nopen(f'pid-{index}', 'w').write(str(os.getpid()))\n"
        "while index and not os.path.exists('pid-0'): time.sleep(0.01)\n"
        "if index: sys.exit(1)\ntime.sleep(60)"
    )
    assert start_workers(2, command) == 1
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid-0").read_text()), 0)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_signals_are_passed_on(script, tmp_path, number, status):
    command = script(
        "def leave(number, frame): time.sleep(0.5); open(f'saved-{index}', 'w'); sys.exit(128 + number)\n"
        "signal.signal(15, leave); signal.signal(2, leave); open(f'ready-{index}', 'w'); time.sleep(60)"
    )

    def ask():
        while len(list(tmp_path.glob("ready-*"))) < 2:
            time.sleep(0.01)
        os.kill(os.getpid(), number)

    asking = threading.Thread(target=ask)
    asking.start()
    assert start_workers(2, command) == status
    asking.join()
    assert len(list(tmp_path.glob("saved-*"))) == 2
