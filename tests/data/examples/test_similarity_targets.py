"""Scores of pairs of texts as targets, or none."""

import pytest

from tfattn.data.examples.dictionary_encoded import DictionaryEncoded
from tfattn.data.examples.similarity_targets import Similarities
from tfattn.errors import DataError
from tfattn.formats.source import Row


def rows(*values):
    return [Row({"target": value}, "x.csv:2") for value in values]


def test_scored_pairs_have_the_range_of_their_scores():
    targets = Similarities(scored=True)
    targets.fit(DictionaryEncoded.of([""] * 3), rows("0", "2.5", "5"))
    assert targets.facts["scored"] and (targets.facts["low"], targets.facts["high"]) == (0, 5)
    assert targets.roles == ("target",) and targets.encode(rows("1")[0]) == {"target_values": 1.0}


def test_pairs_without_scores_need_no_column():
    targets = Similarities()
    targets.fit(DictionaryEncoded.of([""]), [])
    assert targets.facts == {"scored": False} and targets.roles == () == targets.text_roles
    assert targets.features == {} and targets.encode(rows("1")[0]) == {}


def test_equal_scores_are_refused():
    with pytest.raises(DataError, match="there is nothing to predict: expected training rows whose targets differ"):
        Similarities(scored=True).fit(DictionaryEncoded.of([""] * 2), rows("3", "3.0"))


def test_a_score_that_is_no_number_is_located():
    with pytest.raises(DataError, match="x.csv:2: the target is no finite number"):
        Similarities(scored=True).check(rows("high")[0])
