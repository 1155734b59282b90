"""Label sets as targets: lists, texts, empty sets, and errors."""

import json

import pytest

from tfattn.data.examples.dictionary_encoded import DictionaryEncoded
from tfattn.data.examples.label_targets import LabelSets
from tfattn.errors import ConfigError, DataError
from tfattn.formats.source import Row


def row(value, line=2):
    return Row({"labels": value}, f"x.jsonl:{line}")


def fitted(*values, **options):
    target = LabelSets(**options)
    target.fit(DictionaryEncoded.of(target.stratum(row(value)) for value in values), iter(()))
    return target


def test_labels_are_found_counted_and_numbered_in_alphabetical_order():
    target = fitted("noise|leak", ["leak", " two\n words "], "", "leak | leak")
    assert target.facts == {"labels": ["leak", "noise", "two words"], "counts": [3, 1, 1], "rows": 4}
    again = LabelSets()
    again.use(json.loads(json.dumps(target.facts)))
    for one in (target, again):
        assert one.encode(row("two words|leak")) == {"label_indicators": [1, 0, 1]}
        assert one.encode(row("")) == one.encode(row([])) == {"label_indicators": [0, 0, 0]}
        assert one.features["label_indicators"].shape == (3,)


def test_the_separator_is_a_choice():
    assert fitted("a;b", "b|c", separator=";").facts["labels"] == ["a", "b", "b|c"]


def test_the_order_of_labels_does_not_matter():
    assert LabelSets().stratum(row("b|a")) == LabelSets().stratum(row(["a", "b", "a"])) != LabelSets().stratum(row("a"))


@pytest.mark.parametrize("value", [{"a": 1}, ["a", 3], [["a"]]])
def test_an_invalid_list_of_texts_is_located(value):
    with pytest.raises(DataError, match="x.jsonl:5: the value of `labels` is no list of classes: expected a list of"):
        LabelSets().check(row(value, line=5))


def test_an_unlisted_or_unseen_label_is_located():
    listed = LabelSets(labels=["leak", "noise"])
    listed.check(row("noise"))
    with pytest.raises(DataError) as error:
        listed.check(row(["leak", "nois"], line=4))
    assert str(error.value) == (
        "x.jsonl:4: not a label of `data.targets.labels`: expected some of leak, noise, received 'nois'. "
        "Did you mean `noise`?"
    )
    target = fitted("leak", "noise")
    target.check_known(target.stratum(row("noise|leak")), "x.jsonl:2")
    with pytest.raises(DataError, match="x.jsonl:9: a label that no training row has: expected some of leak, noise"):
        target.check_known(target.stratum(row("noise|fire")), "x.jsonl:9")


def test_a_single_label_is_refused():
    with pytest.raises(DataError, match="at least 2 classes .*received 'leak'.*`data.targets.separator`"):
        fitted("leak", "")
    with pytest.raises(ConfigError, match="not a list of classes"):
        LabelSets(labels=["leak"])


def test_two_labels_are_assumed_before_reading():
    assert LabelSets().facts == {"labels": None, "counts": [1, 1], "rows": 2}
