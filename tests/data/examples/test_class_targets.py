"""Class labels: numbering by training rows, and errors."""

import json

import pytest

from tfattn.data.examples.class_targets import Classes, seem_numbers
from tfattn.data.examples.dictionary_encoded import DictionaryEncoded
from tfattn.errors import ConfigError, DataError
from tfattn.formats.source import Row


def rows(*labels):
    return [Row({"text": "a", "label": label}, f"x.csv:{number}") for number, label in enumerate(labels, start=2)]


def fitted(target, *labels):
    """The target, told the strata of training rows with these labels."""
    target.fit(DictionaryEncoded.of(target.stratum(row) for row in rows(*labels)), iter(()))
    return target


def test_classes_are_numbered_in_alphabetical_order():
    target = Classes()
    fitted(target, "noise", "leak", " leak ", "two\n  lines")
    again = Classes()
    again.use(json.loads(json.dumps(target.facts)))
    assert target.facts == again.facts == {"labels": ["leak", "noise", "two lines"], "counts": [2, 1, 1]}
    for one in (target, again):
        assert [one.encode(row)["label_ids"] for row in rows("noise", "two lines", "leak")] == [1, 2, 0]


def test_a_label_without_training_rows_is_located():
    target = fitted(Classes(), "leak", "noise")
    target.check_known("noise", "x.csv:2")
    with pytest.raises(DataError) as error:
        target.check_known("Leak", "x.csv:3")
    assert str(error.value).startswith(
        "x.csv:3: a label that no training row has: expected one of leak, noise, received 'Leak'. Did you mean `leak`?"
    )


@pytest.mark.parametrize("written", ["{}.1", "{}", "1e{}", "-{},?"])
def test_many_numbers_are_not_classes(written):
    values = [text for number in range(21) for text in written.format(number).split(",")]
    assert seem_numbers(values)
    target = fitted(Classes(), *values)
    with pytest.raises(DataError, match="received '77'. Numbers are no classes: take a task that predicts numbers"):
        target.check_known("77", "x.csv:2")


def test_a_few_numbers_or_names_may_be_classes():
    assert not seem_numbers([str(grade) for grade in range(1, 11)])
    assert not seem_numbers([f"item {number}" for number in range(50)])
    assert not seem_numbers([*map(str, range(50)), "none of them"])


def test_a_single_class_is_refused():
    with pytest.raises(DataError, match="fewer than two classes: expected at least 2 classes.*received 'leak'"):
        fitted(Classes(), "leak", "leak")


def test_listed_labels_keep_their_order():
    target = fitted(Classes(labels=["noise", "leak", "fire"]), "leak", "leak")
    assert target.facts == {"labels": ["noise", "leak", "fire"], "counts": [0, 2, 0]}
    assert [target.encode(row)["label_ids"] for row in rows("fire", " leak ")] == [2, 1]


def test_an_unlisted_label_is_located():
    target = Classes(labels=["noise", "leak"])
    target.check(rows("leak")[0])
    with pytest.raises(DataError) as error:
        target.check(rows("leak", "Leak")[1])
    assert str(error.value) == (
        "x.csv:3: not a label of `data.targets.labels`: expected one of noise, leak, received 'Leak'. "
        "Did you mean `leak`?"
    )
    with pytest.raises(DataError, match="received '2'. Correct the row, or list the label"):
        target.check(rows("2")[0])
    Classes().check(rows("2")[0])


@pytest.mark.parametrize("labels", [["a"], ["a", "b", "a"], []])
def test_an_invalid_list_of_labels_is_refused(labels):
    with pytest.raises(ConfigError, match="not a list of classes: expected at least two, each once") as error:
        Classes(labels=labels)
    assert error.value.key == "labels"


def test_two_classes_are_assumed_before_reading():
    assert Classes().facts == {"labels": None, "counts": [1, 1]}
    assert Classes(labels=["a", "b", "c"]).facts == {"labels": ["a", "b", "c"], "counts": [1, 1, 1]}
