"""Choices as targets: by index or text, and errors."""

import pytest

from tfattn.data.examples.choice_targets import Choices
from tfattn.errors import DataError
from tfattn.formats.source import Row


def row(choices, label):
    return Row({"context": "c", "choices": choices, "label": label}, "x.csv:7")


@pytest.mark.parametrize(("options", "label", "number"), [({}, "1", 1), ({}, " 0 ", 0), ({"label": "text"}, "no ", 1)])
def test_the_label_is_the_index_of_the_correct_choice(options, label, number):
    targets, one = Choices(**options), row(["yes", "no"], label)
    targets.check(one)
    assert targets.encode(one) == {"label_ids": number} and targets.stratum(one) == str(number)
    assert targets.classes(one) == (f"choice {number}",)


@pytest.mark.parametrize(
    ("choices", "label", "message"),
    [
        (["yes"], "0", "there is nothing to choose from: expected at least 2 choices, received 1"),
        ([], "0", "there is nothing to choose from: expected at least 2 choices, received 0"),
        (["a", " ", "b"], "0", "choice 1 of 3 is empty, counted from 0: expected a text, received ' '"),
        ("a|b", "0", "the value of `choices` is not a list of texts: .*`fields.choices` is a list of columns"),
        (["a", 2], "0", 'the value of `choices` is not a list of texts: .*received \\["a", 2\\]'),
        (["a", "b"], "2", "the label is not the number of a choice: expected 0 to 1, counted from 0, received '2'"),
        (["a", "b"], "-1", "the label is not the number of a choice"),
        (["a", "b"], "b", "the label is not the number of a choice.*Set `data.targets.label: text`"),
    ],
)
def test_invalid_choices_are_located(choices, label, message):
    with pytest.raises(DataError, match=f"x.csv:7: {message}"):
        Choices().check(row(choices, label))


def test_a_text_that_is_not_a_choice_is_reported():
    with pytest.raises(DataError, match="the label is none of the choices: expected one of a, b, received '1'"):
        Choices(label="text").check(row(["a", "b"], "1"))


def test_duplicate_choices_are_reported():
    Choices().check(row(["a", "b", "b", "a "], "0"))
    assert Choices().remarks(row(["a", "b", "b"], "0")) and not Choices().remarks(row(["a", "b"], "0"))


def test_a_last_choice_that_looks_like_padding_is_refused():
    with pytest.raises(DataError, match="the last choice of a row repeats the first"):
        Choices().check(row(["a", "b", "a"], "1"))
