"""Log lines are atomic JSON objects and never block requests."""

import json
import os
import select
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest
from grpc import StatusCode

from tfattn.serving.monitoring.logs import Errors, Log, Problems, log


@pytest.fixture
def pipe():
    """Create a pipe and return its read and write ends."""
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


def lines(descriptor: int) -> list[dict]:
    """Return the lines that can be read without blocking."""
    return [json.loads(line) for line in os.read(descriptor, 1 << 20).decode().splitlines()]


def test_a_line_is_a_json_object_on_standard_error(capfd):
    log("version_available", model="reports", version=3, seconds=1.25, warm=True, label=None)
    output, errors = capfd.readouterr()
    assert not output
    assert errors.count("\n") == 1
    line = json.loads(errors)
    assert list(line)[:2] == ["time", "event"]
    facts = {
        "event": "version_available",
        "model": "reports",
        "version": 3,
        "seconds": 1.25,
        "warm": True,
        "label": None,
    }
    assert line.items() >= facts.items()


def test_the_time_is_utc_in_rfc_3339_format(capfd):
    log("started")
    text = json.loads(capfd.readouterr().err)["time"]
    assert text.endswith("Z")
    assert abs((datetime.now().astimezone() - datetime.fromisoformat(text)).total_seconds()) < 60


def test_codes_paths_and_control_characters_become_plain_text(capfd):
    log(
        "load_failed",
        code=StatusCode.NOT_FOUND,
        folder=Path("/models/a"),
        message='two\nlines \x1b[31m \x9b "é" \udc80',
    )
    errors = capfd.readouterr().err
    assert errors.isascii()
    assert errors.rstrip("\n").isprintable()
    line = json.loads(errors)
    assert line["code"] == "NOT_FOUND"
    assert line["folder"] == "/models/a"
    assert line["message"] == 'two\nlines \x1b[31m \x9b "é" \udc80'


def test_a_long_text_is_cut_and_a_long_line_is_replaced(pipe):
    write_log = Log(pipe[1])
    write_log("load_failed", message="x" * 10_000)
    write_log("load_failed", **{f"message_{number}": "x" * 500 for number in range(20)})
    cut, replaced = lines(pipe[0])
    assert cut["message"] == "x" * 500 + "..."
    assert replaced["event"] == "load_failed"
    assert replaced["too_long"] > select.PIPE_BUF


def test_a_full_pipe_drops_lines_and_reports_their_number(pipe):
    write_log = Log(pipe[1])
    for number in range(5000):  # more than a pipe holds: whoever waited would wait for ever
        write_log("request", number=number)
    first = lines(pipe[0])
    write_log("request", number=5000)
    (last,) = lines(pipe[0])
    assert [line["number"] for line in first] == list(range(len(first)))
    assert last["lost_lines"] == 5000 - len(first)


def test_without_a_reader_nothing_happens(pipe):
    unread, descriptor = os.pipe()
    os.close(unread)
    Log(descriptor)("request")
    os.close(descriptor)


def test_lines_of_several_processes_do_not_mix(tmp_path):
    path = tmp_path / "log"
    code = (
        "from tfattn.serving.monitoring.logs import log\n"
        "for number in range(500): log('request', text='x' * 400, number=number)"
    )
    with path.open("ab") as file:
        writers = [subprocess.Popen([sys.executable, "-c", code], stderr=file) for _ in range(3)]
        assert [writer.wait() for writer in writers] == [0, 0, 0]
    assert len([json.loads(line) for line in path.read_text().splitlines()]) == 1500


def logged(capfd) -> list[dict]:
    return [json.loads(line) for line in capfd.readouterr().err.splitlines()]


def test_a_problem_is_logged_once_while_it_lasts(capfd):
    problems = Problems("problem_on_disk", model="reports")
    for now in (["a"], ["a", "b"], ["a", "b"], ["b"], [], ["a"]):
        problems.report(*now)
    assert [line["problem"] for line in logged(capfd)] == ["a", "b", "a"]


def test_a_repeated_error_is_logged_at_powers_of_ten(capfd):
    errors = Errors(model="reports")

    def goes_wrong(kind: type[Exception]) -> None:
        try:
            raise kind("quotes a request")
        except Exception as error:
            errors.record(error)

    for _ in range(150):
        goes_wrong(OSError)
    goes_wrong(ValueError)
    errors.reset()
    goes_wrong(ValueError)
    lines = logged(capfd)
    assert [(line["error"], line["times"]) for line in lines] == [
        ("OSError", 1),
        ("OSError", 10),
        ("OSError", 100),
        ("ValueError", 1),
        ("ValueError", 1),
    ]
    assert all(line["event"] == "internal_error" and "quotes" not in str(line) for line in lines)
