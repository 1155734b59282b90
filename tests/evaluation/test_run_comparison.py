"""The comparison of finished runs, paired by row."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from tfattn.config.checksum import checksummed
from tfattn.errors import ConfigError, DataError
from tfattn.evaluation.run_comparison import compare_runs
from tfattn.runs.listing import list_runs


@pytest.fixture
def pair(trained):
    """Two runs: the finished run, and a copy with another number of epochs that predicts every row correctly."""
    first = Path("runs/tiny") / list_runs("runs")[0].id
    second = first.with_name("0123456789")
    shutil.copytree(first, second)
    change(second, lambda line: line | {"predicted": line["target"], "right": True})
    lines = (second / "config.yaml").read_text().splitlines()[1:]
    text = "\n".join(lines).replace("epochs: 2", "epochs: 9") + "\n"
    (second / "config.yaml").write_text(checksummed(text))
    return first, second


def change(run, function):
    lines = [json.loads(line) for line in (run / "predictions.jsonl").read_text().splitlines()]
    (run / "predictions.jsonl").write_text("".join(json.dumps(function(line)) + "\n" for line in lines))


def test_differences_are_paired_by_row(pair, tmp_path, capsys):
    first, second = pair
    right = [json.loads(line)["right"] for line in (first / "predictions.jsonl").read_text().splitlines()]
    folder = compare_runs([first, second], tmp_path / "page")
    page, printed = (folder / "report.html").read_text(), capsys.readouterr().err
    for text in (page, printed):
        assert f"{1 - np.mean(right):+.4f}" in text and "0123456789" in text and "training.epochs" in text
    assert (folder / "plots" / "loss.svg").is_file()
    assert compare_runs([first, second]) == Path("comparisons") / f"{first.name}-{second.name}"


def test_equal_runs_differ_by_nothing(pair, tmp_path):
    first, second = pair
    shutil.copy(first / "predictions.jsonl", second)
    page = (compare_runs([second, first], tmp_path / "page") / "report.html").read_text()
    assert "+0.0000" in page and "always 0" in page


def test_numbers_compare_by_their_absolute_errors(pair, tmp_path):
    for run, error in zip(pair, (-2.0, 0.5), strict=True):
        change(run, lambda line, error=error: {"row": line["row"], "target": 1, "prediction": 1, "error": error})
    page = (compare_runs(pair, tmp_path / "page") / "report.html").read_text()
    assert "-1.5000" in page and "0.5 is the best mean absolute error, of 0123456789" in page


def test_runs_without_rows_have_metrics_only(pair, tmp_path):
    for run in pair:
        (run / "predictions.jsonl").write_text("")
    page = (compare_runs(pair, tmp_path / "page") / "report.html").read_text()
    assert "no quality for each row" in page and "macro_f1" in page


def test_runs_of_different_data_are_refused(pair, tmp_path):
    change(pair[1], lambda line: line | {"row": "others" + line["row"]})
    with pytest.raises(DataError, match="different rows.*received othersreports.csv"):
        compare_runs(pair, tmp_path / "page")
    assert not (tmp_path / "page").exists()


def test_wrong_arguments_are_refused(pair, tmp_path, command):
    first, second = pair
    with pytest.raises(ConfigError, match="at least two runs.*`tfattn runs` lists"):
        compare_runs([first, first])
    with pytest.raises(DataError, match="no such run"):
        compare_runs([first, first.parent])
    (second / "metrics.json").unlink()
    answer = command("compare", first, second)
    assert answer.status == 1 and "has not been evaluated" in answer.errors and "tfattn evaluate" in answer.errors
