"""The report of a tagger: metrics over the words of the file, and mistakes in colours."""

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
# As BERT divides them: U . N . are four words, and so is <b> three; the last text was cut behind its second word.
STARTS = [[0, 4, 8, 9, 10, 11, 13, 14, 15], [0, 3, 8], [0, 3], [0, 4]]
GIVEN = [[3, 0, 1, 0, 0, 0, 0, 0, 0], [0, 1, 2], [4, 0], [3, 4]]
EXPECTED = [["B-PER", "O", "B-LOC", "O"], ["O", "B-LOC", "I-LOC"], ["B-PER", "O"], ["B-PER", "I-PER", "O"]]


def values(given=GIVEN):
    width = max(map(len, STARTS))

    def padded(rows):
        return np.array([[*row, *[0] * (width - len(row))] for row in rows], np.int32)

    numbers = padded([range(1, len(row) + 1) for row in STARTS])
    starts = padded(STARTS)
    label_ids = padded(given)
    scores = 0.8 * np.eye(5, dtype="float32")[label_ids] + 0.04
    return {"scores": scores, "label_ids": label_ids, "word_numbers": numbers, "starts": starts, "ends": starts + 1}


@pytest.fixture
def report(predictions):
    def report(given=GIVEN, **options):
        ensemble = SimpleNamespace(labels=tuple(TYPES))
        return tagging.report(ensemble, predictions(ROWS, values(given), {}, **options))

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


def test_characters_of_one_word_have_its_label():
    rows = [{"row": "x:1", "text": "在ABC海", "tags": ["O", "B-LOC", "I-LOC", "I-LOC", "B-PER"]}]
    read = {"word_numbers": [[1, 2, 3]], "starts": [[0, 1, 4]], "ends": [[1, 4, 5]]}
    for label_ids, given in (([0, 1, 3], "O B-LOC I-LOC I-LOC B-PER"), ([4, 4, 0], "B-PER I-PER I-PER I-PER O")):
        predicted = {**read, "label_ids": [label_ids], "scores": np.full((1, 3, 5), 0.5)}
        (text,) = tagged(rows, {name: np.array(values) for name, values in predicted.items()}, TYPES)
        assert text.given == given.split() and text.is_by_character
        assert text.certainty.tolist() == [0.5] * 5
    (cut,) = tagged(rows, {name: np.array(values)[:, :1] for name, values in predicted.items()}, TYPES)
    assert cut.given == ["B-PER", "O", "O", "O", "O"]


def test_mistakes_are_shown_in_colours_and_nothing_of_the_data_is_markup(report, write, tmp_path):
    members = [MemberPredictions(f"seed {n}", values(), {"label_ids": np.zeros((4, 9))}) for n in (0, 1)]
    page = (write(tmp_path / "run", report(members=members, leaked=["x.conll:10"])) / "report.html").read_text()
    assert '<mark class="missed">Bonn<small>LOC</small></mark>' in page
    assert '<mark class="wrong">Bonn Rome<small>LOC</small></mark>' in page
    assert '<mark class="wrong">he<small>PER</small></mark>' in page
    assert "<b>" not in page
    assert "stand among the training rows too" in page and "an F1 of" in page
    assert "the right type with other bounds" in page and "given where there is none" in page


def test_no_mistake_and_none_found_are_said(report, write, tmp_path):
    right = [[3, 0, 1, 2, 2, 2, 0, 0, 0], [0, 1, 1], [0, 0], [3, 4]]
    findings = report(right)
    assert (
        findings.metrics["f1"] == 1
        and "There are none." in (write(tmp_path / "a", findings) / "report.html").read_text()
    )
    nothing = report([[0] * len(row) for row in GIVEN])
    assert nothing.metrics["f1"] == nothing.metrics["f1_high"] == 0
    assert nothing.headline.doubts == ["It never finds an entity of type LOC or PER."]
