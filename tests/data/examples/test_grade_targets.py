"""Grades as targets: numbers for each document, and errors that name the line."""

import pytest

from tfattn.data.examples.dictionary_encoded import DictionaryEncoded
from tfattn.data.examples.grade_targets import ALL_EQUAL, NOT_RELEVANT, ONE_DOCUMENT, Grades
from tfattn.errors import DataError
from tfattn.formats.source import Row


def row(documents, grades):
    return Row({"query": "q", "documents": documents, "grades": grades}, "x.jsonl:7")


@pytest.mark.parametrize("grades", [[0, 1.5], ["0", " 1.5 "], [False, 1.5]])
def test_grades_are_numbers_or_their_texts(grades):
    targets = Grades()
    targets.check(row(["a", "b"], grades))
    assert targets.encode(row(["a", "b"], grades)) == {"grades": [0.0, 1.5]}


@pytest.mark.parametrize(
    ("documents", "grades", "message"),
    [
        ("a|b", [1, 0], 'the value of `documents` is not a list of texts: .*received "a|b".*`grouped_documents`'),
        ([], [], "the value of `documents` is not a list of texts"),
        (["a", 2], [1, 0], "the value of `documents` is not a list of texts"),
        (["a", " "], [1, 0], "document 1 of 2 is empty, counted from 0: expected a text, received ' '"),
        (["a", "b", "a"], [1, 0, 0], "document 2 of 3 repeats document 0, counted from 0: expected each document once"),
        (["a", "b"], [1], "there is not a grade for each document: expected a list of 2 numbers, received \\[1\\]"),
        (["a", "b"], 1, "there is not a grade for each document"),
        (["a", "b"], [1, "relevant"], 'the grade of document 1 is no grade.*received "relevant".*Replace words'),
        (["a", "b"], [1, -1], "the grade of document 1 is no grade, counted from 0: expected a number from 0"),
        (["a", "b"], [1, None], "the grade of document 1 is no grade.*received null"),
        (["a", "b"], [float("nan"), 1], "the grade of document 0 is no grade.*received NaN"),
        (["a", "b"], [10**400, 1], "the grade of document 0 is no grade"),
    ],
)
def test_invalid_documents_and_grades_are_located(documents, grades, message):
    with pytest.raises(DataError, match=f"x.jsonl:7: {message}"):
        Grades().check(row(documents, grades))


def test_lists_that_teach_nothing_are_counted():
    remarks = [Grades().remarks(row(list("abc")[: len(grades)], grades)) for grades in ([1], [0, 0], [2, 2], [0, 1])]
    assert remarks == [[ONE_DOCUMENT], [NOT_RELEVANT], [ALL_EQUAL], []]


def test_the_highest_grade_is_learned():
    targets = Grades()
    targets.fit(DictionaryEncoded.of([]), [row(["a", "b"], [0, 3]), row(["a"], [4])])
    assert targets.facts == {"highest": 4.0}


def test_lists_without_different_grades_leave_nothing_to_rank():
    with pytest.raises(DataError, match="there is nothing to rank: .*`mined_negatives` finds some"):
        Grades().fit(DictionaryEncoded.of([]), [row(["a", "b"], [1, 1]), row(["a"], [1]), row(["a", "b"], [0, 0])])
