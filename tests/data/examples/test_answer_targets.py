"""Answers as targets: positions, recovered and dropped answers, and errors."""

import json
from collections import Counter

import pytest

from tfattn.data.examples.answer_targets import NO_ANSWER, REMARKS, Answers
from tfattn.data.examples.dictionary_encoded import DictionaryEncoded
from tfattn.errors import DataError
from tfattn.formats.source import Row
from tfattn.formats.squad_files import SquadFile

CONTEXT = "Rome. rome is older than Rome"


def row(*answers):
    answers = [{"text": text, "start": start} for text, start in answers]
    return Row({"context": CONTEXT, "answers": answers}, "x.json:4")


def test_the_most_frequent_answer_is_the_target():
    target = Answers()
    assert target.span(row(("Rome", 0))) == (0, 4)
    assert target.span(row(("older", 14), ("Rome", 25), ("Rome", 25))) == (25, 29)
    assert target.span(row(("older", 14), ("Rome", 25))) == (14, 19)
    assert target.span(row()) is None
    assert target.remarks(row(("Rome", 25))) == target.remarks(row()) == []


@pytest.mark.parametrize(("start", "found"), [(3, (0, 4)), (1, (0, 4)), (20, (25, 29)), (500, (25, 29)), (-7, (0, 4))])
def test_a_misplaced_answer_is_found_or_dropped_and_reported(start, found):
    assert Answers().span(row(("Rome", start))) == found
    assert Answers().remarks(row(("Rome", start), ("older", 14))) == [REMARKS["find"]]
    assert Answers(misplaced="drop").span(row(("Rome", start))) is None
    assert Answers(misplaced="drop").span(row(("Rome", start), ("older", 14))) == (14, 19)
    assert Answers(misplaced="drop").remarks(row(("Rome", start))) == [REMARKS["drop"]]


def test_the_answers_of_cmrc_are_found_or_counted(shared):
    source = SquadFile(path=str(shared / "chinese/cmrc2018/cmrc2018_dev.json"))
    remarks = {misplaced: Counter() for misplaced in ("find", "drop")}
    for row in source.rows():
        for misplaced, found in remarks.items():
            target = Answers(misplaced=misplaced)
            target.check(row)
            found.update(target.remarks(row))
    assert remarks["find"] == {REMARKS[""]: 174, REMARKS["find"]: 3}
    assert remarks["drop"] == {REMARKS[""]: 174, REMARKS["drop"]: 3}


@pytest.mark.parametrize("text", ["Paris", ""])
def test_an_answer_that_does_not_occur_is_ignored(text):
    for misplaced in ("find", "drop"):
        target = Answers(misplaced=misplaced)
        assert target.span(row((text, 2))) is None
        assert target.remarks(row((text, 2))) == [REMARKS[""]]


def test_questions_without_an_answer_are_counted():
    target = Answers()
    rows = [row(("Rome", 0)), row(), row()]
    target.fit(DictionaryEncoded.of(map(target.stratum, rows)), iter(rows))
    assert target.facts == {"rows": 3, "unanswerable": 2}
    assert [list(target.classes(one)) for one in rows] == [[], [NO_ANSWER], [NO_ANSWER]]
    again = Answers()
    again.use(json.loads(json.dumps(target.facts)))
    assert again.facts == target.facts


@pytest.mark.parametrize("answers", ["Rome", [3], [{"text": "Rome"}], [{"text": "Rome", "start": "0"}], {"a": 1}])
def test_an_invalid_list_of_answers_is_located(answers):
    with pytest.raises(DataError, match="x.json:4: the value of `answers` is no list of answers: expected"):
        Answers().check(Row({"context": CONTEXT, "answers": answers}, "x.json:4"))
    Answers().check(row(("Rome", 0)))
    Answers().check(row())
