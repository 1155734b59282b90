"""Class labels: found in training rows, refused elsewhere."""

import pytest

from tfattn.data.source import Row
from tfattn.data.targets import Classes, seem_numbers
from tfattn.errors import DataError


def rows(*labels):
    return [Row({"text": "a", "label": label}, f"x.csv:{number}") for number, label in enumerate(labels, start=2)]


def fitted(target, *labels):
    """The target, told the strata of training rows with these labels."""
    target.fit({target.stratum(row) for row in rows(*labels)}, iter(()))
    return target


def test_classes_are_numbered_in_alphabetical_order(tmp_path):
    target = Classes()
    fitted(target, "noise", "leak", " leak ", "two\n  lines")
    target.save(tmp_path)
    again = Classes()
    again.load(tmp_path)
    assert target.names == again.names == ["leak", "noise", "two lines"]
    assert (tmp_path / "labels.txt").read_text() == "leak\nnoise\ntwo lines\n"
    for one in (target, again):
        assert [one.encode(row)["label_ids"] for row in rows("noise", "two lines", "leak")] == [1, 2, 0]


def test_a_label_never_seen_in_training_is_located():
    target = fitted(Classes(), "leak", "noise")
    target.check_known("noise", "x.csv:2")
    with pytest.raises(DataError) as error:
        target.check_known("Leak", "x.csv:3")
    assert str(error.value).startswith(
        "x.csv:3: a label that no training row has: expected one of leak, noise, received 'Leak'. Did you mean `leak`?"
    )


@pytest.mark.parametrize("written", ["{}.1", "{}", "1e{}", "-{},?"])
def test_many_numbers_are_no_classes(written):
    values = [text for number in range(21) for text in written.format(number).split(",")]
    assert seem_numbers(values)
    target = fitted(Classes(), *values)
    with pytest.raises(DataError, match="received '77'. Numbers are no classes: name another column in `fields.label`"):
        target.check_known("77", "x.csv:2")


def test_a_few_numbers_or_names_may_be_classes():
    assert not seem_numbers([str(grade) for grade in range(1, 11)])
    assert not seem_numbers([f"item {number}" for number in range(50)])
    assert not seem_numbers([*map(str, range(50)), "none of them"])


def test_one_class_is_nothing_to_learn():
    with pytest.raises(DataError, match="nothing to tell apart: expected at least 2 classes.*received 'leak'"):
        fitted(Classes(), "leak", "leak")


def test_labels_that_are_listed_keep_their_order():
    target = fitted(Classes(["noise", "leak", "fire"]), "leak", "leak")
    assert target.names == ["noise", "leak", "fire"]
    assert [target.encode(row)["label_ids"] for row in rows("fire", " leak ")] == [2, 1]


def test_a_label_that_is_not_listed_is_located():
    target = Classes(["noise", "leak"])
    target.check(rows("leak")[0])
    with pytest.raises(DataError) as error:
        target.check(rows("leak", "Leak")[1])
    assert str(error.value) == (
        "x.csv:3: not a label of `data.labels`: expected one of noise, leak, received 'Leak'. Did you mean `leak`?"
    )
    with pytest.raises(DataError, match="received '2'. Correct the row, or list the label"):
        target.check(rows("2")[0])
    Classes().check(rows("2")[0])
