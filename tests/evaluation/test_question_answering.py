"""The report of question answering: SQuAD's metrics, kinds of questions, and highlighted errors."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from tfattn.evaluation import question_answering
from tfattn.evaluation.question_answering import answer_length, question_word
from tfattn.models.bert import Bert
from tfattn.tasks.question_answering import QuestionAnswering

CONTEXT = "The old <b> bridge of Rome is seven miles long, people say."
QUESTIONS = [
    ("How long is it?", ["seven miles", "seven miles long"], "seven miles long", 0.9),
    ("What is it?", ["The old <b> bridge"], "bridge", 0.5),
    ("In which town?", ["Rome"], "people", 0.8),
    ("Who built it?", [], "", 0.7),
    ("Is it whose?", [], "Rome", 0.6),
]
ROWS = [
    {
        "row": f"x.json:{number}",
        "id": f"q{number}",
        "question": question,
        "context": CONTEXT,
        "answers": [{"text": text, "start": CONTEXT.index(text)} for text in right],
    }
    for number, (question, right, *_) in enumerate(QUESTIONS, start=1)
]


@pytest.fixture
def report(predictions):
    def report(count=5, **options):
        encoder = Bert(vocabulary_size=9, hidden_dim=4, num_layers=1, num_heads=1, intermediate_dim=4)
        task = QuestionAnswering(model=encoder, targets={"rows": 1, "unanswerable": 1})
        given = [given for *_, given, _ in QUESTIONS[:count]]
        starts = np.array([[CONTEXT.index(text)] if text else [0] for text in given])
        values = {
            "starts": starts,
            "ends": starts + np.array([[len(text) or 4] for text in given]),
            "has_answer": np.array([bool(text) for text in given]),
            "score": np.array([score for *_, score in QUESTIONS[:count]]),
        }
        return question_answering.report(SimpleNamespace(task=task), predictions(ROWS[:count], values, {}, **options))

    return report


def test_metrics_are_those_of_squad(report):
    metrics = report().metrics
    assert metrics["exact_match"] == pytest.approx(2 / 5)
    assert metrics["f1"] == pytest.approx((1 + 2 / (1 + 3) + 0 + 1 + 0) / 5)
    assert metrics["has_answer_f1"] == pytest.approx(1.5 / 3) and metrics["no_answer_exact_match"] == 0.5
    assert metrics["f1_low"] <= metrics["f1"] <= metrics["f1_high"]
    answerable = report(3).metrics
    assert answerable["exact_match"] == pytest.approx(1 / 3) and "has_answer_f1" not in answerable


def test_questions_are_grouped_by_question_word_and_answer_length():
    assert [question_word(row) for row in ROWS] == ["how", "what", "which", "who", "whose"]
    assert question_word({"question": "So how many, and who?"}) == "how many"
    assert question_word({"question": "谁?"}) == question_word({"question": "Whatever"}) == "other"
    assert [answer_length(row) for row in ROWS] == ["2 words", "4 to 6 words", "1 word", "no answer", "no answer"]


def test_errors_are_highlighted_and_data_is_escaped(report, write, tmp_path):
    folder = write(tmp_path / "run", report(leaked=["x.json:1"]))
    page = (folder / "report.html").read_text()
    assert '<mark class="wrong">people</mark>' in page and '<mark class="missed">Rome</mark>' in page
    assert "<b>" not in page and "is also a training row" in page
    lines = [json.loads(line) for line in (folder / "predictions.jsonl").read_text().splitlines()]
    assert [(line["id"], line["answer"], line["exact_match"]) for line in lines] == [
        ("q1", "seven miles long", True),
        ("q2", "bridge", False),
        ("q3", "people", False),
        ("q4", "", True),
        ("q5", "Rome", False),
    ]
    assert CONTEXT[lines[0]["start"] : lines[0]["end"]] == "seven miles long"
