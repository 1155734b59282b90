"""Answers come in the order of the inputs, whatever the batch."""

import io
import json
import sys

import pytest

from tfattn.errors import DataError
from tfattn.serving import engine
from tfattn.serving.predict import answers, predict


@pytest.fixture(scope="module")
def reports(models):
    return engine.load("reports", models)


@pytest.fixture
def new_reports(tmp_path):
    path = tmp_path / "new.txt"
    path.write_text("".join(f"{'x' * (7 * length % 31)}\n" for length in range(10)))
    return path


def test_line_n_answers_row_n(reports, new_reports, tmp_path):
    assert predict(reports, str(new_reports), str(tmp_path / "out.jsonl"), batch_size=3) == 10
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [line["text"] for line in lines] == new_reports.read_text().splitlines()
    assert all(line["label"] == ("Leak" if len(line["text"]) >= 10 else "Électronique") for line in lines)
    assert list(lines[1]) == ["text", "label", "label_id", "score", "scores"]


def test_an_empty_row_is_answered_and_marked(reports, new_reports, tmp_path):
    predict(reports, str(new_reports), str(tmp_path / "out.jsonl"))
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [line.get("empty", False) for line in lines] == [True] + 9 * [False]
    assert lines[0]["label"] == "Électronique"


def test_the_same_goes_through_pipes(reports, new_reports, tmp_path, monkeypatch, capsys):
    predict(reports, str(new_reports), str(tmp_path / "out.jsonl"))

    class Stdin:
        buffer = io.BytesIO(new_reports.read_bytes())

    monkeypatch.setattr(sys, "stdin", Stdin)
    predict(reports, "-", "-")
    assert capsys.readouterr().out == (tmp_path / "out.jsonl").read_text()


def test_answers_come_as_soon_as_a_batch_is_full(reports):
    from tfattn.serving.inputs import Row

    read = []

    def rows():
        for number in range(100):
            read.append(number)
            yield Row({"text": "x"}, "")

    next(answers(reports, rows(), batch_size=4))
    assert len(read) == 4


def test_after_an_error_old_answers_stand(reports, tmp_path):
    (tmp_path / "bad.txt").write_bytes(b"good\n\xff\n")
    (tmp_path / "out.jsonl").write_text("old")
    with pytest.raises(DataError):
        predict(reports, str(tmp_path / "bad.txt"), str(tmp_path / "out.jsonl"), batch_size=1)
    assert (tmp_path / "out.jsonl").read_text() == "old"
