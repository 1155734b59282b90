"""The report of a tagger: metrics over the words of the file, and highlighted errors."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from tfattn.evaluation import tagging
from tfattn.evaluation.tagged_words import tagged
from tfattn.trained.predictions import MemberPredictions

TYPES = ["LOC", "PER"]
TEXTS = ["Ann saw U.N. <b>", "in Bonn Rome", "he is", "Ann Bo ran"]
TRUE = [["B-PER", "O", "B-LOC", "O"], ["O", "B-LOC", "B-LOC"], ["O", "O"], ["B-PER", "I-PER", "O"]]
ROWS = [
    {"row": f"x.conll:{10 * n}", "text": text, "tags": tags}
    for n, (text, tags) in enumerate(zip(TEXTS, TRUE, strict=True), start=1)
]
# As BERT divides them: U . N . are four parts, and so is <b> three; the last text was cut after its second word.
PARTS = [
    [(0, 3), (4, 7), (8, 9), (9, 10), (10, 11), (11, 12), (13, 14), (14, 15), (15, 16)],
    [(0, 2), (3, 7), (8, 12)],
    [(0, 2), (3, 5)],
    [(0, 3), (4, 6)],
]
PREDICTED = [[3, 0, 1, 0, 0, 2, 0, 0, 2], [0, 1, 2], [4, 0], [3, 4]]
EXPECTED = [["B-PER", "O", "B-LOC", "O"], ["O", "B-LOC", "I-LOC"], ["B-PER", "O"], ["B-PER", "I-PER", "O"]]


def values(predicted=PREDICTED, parts=PARTS):
    width = max(map(len, parts))

    def padded(rows):
        return np.array([[*row, *[0] * (width - len(row))] for row in rows], np.int32)

    label_ids = padded(predicted)
    return {
        "scores": 0.8 * np.eye(5, dtype="float32")[label_ids] + 0.04,
        "label_ids": label_ids,
        "word_numbers": padded([range(1, len(row) + 1) for row in parts]),
        "starts": padded([[start for start, _ in row] for row in parts]),
        "ends": padded([[end for _, end in row] for row in parts]),
    }


@pytest.fixture
def report(predictions):
    def report(predicted=PREDICTED, **options):
        ensemble = SimpleNamespace(labels=tuple(TYPES))
        return tagging.report(ensemble, predictions(ROWS, values(predicted), {}, **options))

    return report


def test_metrics_count_entities_of_the_words_of_the_file(report):
    metrics = report().metrics
    assert metrics["f1"] == pytest.approx(2 * 3 / (5 + 5))
    assert metrics["f1_low"] <= metrics["f1"] <= metrics["f1_high"]
    assert (metrics["precision"], metrics["recall"]) == (0.6, 0.6)
    assert (metrics["support/LOC"], metrics["support/PER"]) == (3, 2)
    assert metrics["recall/LOC"] == pytest.approx(1 / 3) and metrics["recall/PER"] == 1
    assert metrics["token_accuracy"] == pytest.approx(10 / 12)


def test_metrics_are_those_of_seqeval(report):
    theirs = pytest.importorskip("seqeval.metrics", reason="needs seqeval, to compare with")
    metrics = report().metrics
    assert metrics["f1"] == pytest.approx(theirs.f1_score(TRUE, EXPECTED))
    found = theirs.classification_report(TRUE, EXPECTED, output_dict=True)
    for kind in TYPES:
        assert metrics[f"f1/{kind}"] == pytest.approx(found[kind]["f1-score"])
        assert metrics[f"support/{kind}"] == found[kind]["support"]
    assert metrics["token_accuracy"] == pytest.approx(theirs.accuracy_score(TRUE, EXPECTED))


def test_lines_have_tags_and_entities_of_the_words_of_the_file(report):
    lines = list(report().predictions)
    assert [line["predicted"] for line in lines] == EXPECTED
    assert lines[1]["entities"] == [{"text": "Bonn Rome", "label": "LOC", "start": 3, "end": 12}]
    assert json.loads(json.dumps(lines)) == lines


def test_evaluation_equals_the_export(report):
    """Entities that end inside a word of the file, and those of punctuation alone, are no entities."""
    cut = report([[3, 0, 1, 0, 0, 0, 0, 0, 1], [0, 1, 1], [0, 0], [3, 4]])
    lines = list(cut.predictions)
    assert [entity["text"] for entity in lines[0]["entities"]] == ["Ann", "U.N"]
    assert lines[0]["predicted"] == EXPECTED[0], "the word has the tag of the entity that it is in"
    assert cut.metrics["recall/LOC"] == pytest.approx(2 / 3), "but of U.N. the last character is missing"


def test_characters_of_a_word_share_its_entity():
    rows = [{"row": "x:1", "text": "在ABC海", "tags": ["O", "B-LOC", "I-LOC", "I-LOC", "B-PER"]}]
    parts = [[(0, 1), (1, 4), (4, 5)]]
    for label_ids, predicted in (([0, 1, 3], "O B-LOC I-LOC I-LOC B-PER"), ([4, 4, 0], "B-PER I-PER I-PER I-PER O")):
        (text,) = tagged(rows, values([label_ids], parts), TYPES)
        assert text.predicted == predicted.split() and text.is_by_character
        assert text.is_right == (label_ids == [0, 1, 3])
        assert text.certainty_of_mistakes == pytest.approx(0 if text.is_right else 0.84)
    (cut,) = tagged(rows, values([[4]], [[(0, 1)]]), TYPES)
    assert cut.predicted == ["B-PER", "O", "O", "O", "O"]


def test_errors_are_highlighted_and_data_is_escaped(report, write, tmp_path):
    members = [MemberPredictions(f"seed {n}", values(), {"label_ids": np.zeros((4, 9))}) for n in (0, 1)]
    page = (write(tmp_path / "run", report(members=members, leaked=["x.conll:10"])) / "report.html").read_text()
    assert '<mark class="missed">Bonn<small>LOC</small></mark>' in page
    assert '<mark class="wrong">Bonn Rome<small>LOC</small></mark>' in page
    assert '<mark class="wrong">he<small>PER</small></mark>' in page
    assert "<b>" not in page
    assert "is also a training row" in page and "an F1 of" in page
    assert "correct type, wrong bounds" in page and "spurious: no overlapping entity" in page


def test_errors_have_the_identifier_of_their_row(predictions, write, tmp_path):
    rows = [{**row, "id": f"T-{number}"} for number, row in enumerate(ROWS)]
    findings = tagging.report(SimpleNamespace(labels=tuple(TYPES)), predictions(rows, values(), {}))
    assert [line["id"] for line in findings.predictions] == ["T-0", "T-1", "T-2", "T-3"]
    assert "<dt>T-1, 20, file</dt>" in (write(tmp_path / "run", findings) / "report.html").read_text()


def test_missing_errors_and_missing_entities_are_reported(report, write, tmp_path):
    right = [[3, 0, 1, 0, 0, 2, 0, 0, 0], [0, 1, 1], [0, 0], [3, 4]]
    findings = report(right)
    assert (
        findings.metrics["f1"] == 1
        and "There are no errors." in (write(tmp_path / "a", findings) / "report.html").read_text()
    )
    nothing = report([[0] * len(row) for row in PREDICTED])
    assert nothing.metrics["f1"] == nothing.metrics["f1_high"] == 0
    assert nothing.headline.warnings == ["It never finds an entity of type LOC or PER."]
