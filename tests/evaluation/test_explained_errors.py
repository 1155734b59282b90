"""The section of a report about its largest errors."""

import json

import numpy as np
import pytest

from tfattn.evaluation import explained_errors as module
from tfattn.evaluation.explained_errors import explained_errors
from tfattn.evaluation.report import Marked
from tfattn.stages import open_run
from tfattn.trained.ensemble import load
from tfattn.trained.predictions import evaluation_split, predict_split


@pytest.fixture(scope="module")
def evaluated(finished):
    """The ensemble of a finished run, and its predictions."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(finished[0])
        run = open_run("tiny.yaml", None)
        ensemble = load(run)
        return ensemble, predict_split(run, ensemble, evaluation_split(run))


def test_the_most_confident_errors_are_explained(finished, evaluated):
    [section] = explained_errors(*evaluated)
    lines = [json.loads(line) for line in (finished[0] / "runs/tiny/latest/predictions.jsonl").read_text().splitlines()]
    wrong = sorted((line for line in lines if not line["right"]), key=lambda line: -max(line["scores"].values()))
    shown = [part for part in section.parts if isinstance(part, Marked)]
    assert 1 <= len(shown) <= module.MAX_ROWS
    texts = ["".join(piece.text for piece in part.lines[0][1]) for part in shown]
    assert texts[0].split() == wrong[0]["text"].split()
    page = (finished[0] / "runs/tiny/latest/report.html").read_text()
    assert "<h2>Explanations</h2>" in page and 'class="raises"' in page


def test_a_report_without_errors_or_with_expensive_errors_has_no_section(evaluated, monkeypatch):
    ensemble, predictions = evaluated
    monkeypatch.setattr(module, "MAX_WORK", 1.0)
    assert explained_errors(ensemble, predictions) == []
    monkeypatch.setattr(module, "_errors", lambda predictions: iter(()))
    assert explained_errors(ensemble, predictions) == []


def test_the_largest_errors_of_numbers_come_first(predictions):
    values = {"predictions": np.array([1.0, 5.0, -9.0])}
    found = predictions([{"row": str(number)} for number in range(3)], values, {"target_values": np.zeros(3)})
    assert list(module._errors(found)) == [(2, None), (1, None), (0, None)]
