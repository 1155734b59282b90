"""A vocabulary: tokens that may follow are the same as if each was tried."""

import numpy as np
import pytest

from tests.guidance.vocabularies import BYTES, END, merged
from tfattn.guidance.grammar import grammar_of
from tfattn.guidance.guide import computed
from tfattn.guidance.matcher import compiled
from tfattn.guidance.vocabulary import Vocabulary


@pytest.mark.parametrize("begun", ["", "{", '{"', '{"a":', '{"a":1', '{"a":"é', "{}"])
def test_all_tokens_at_once_are_each_alone(begun):
    tokens = merged(seed=3)
    tokens.append(tokens[300])  # one token twice
    matcher = compiled(Vocabulary(tokens), grammar_of("response_format", {"type": "json_object"}), where="")
    assert matcher.consume_tokens(list(begun.encode()))
    alone = [bool(token) and matcher.validate_tokens([number]) == 1 for number, token in enumerate(tokens)]
    assert computed(matcher, len(tokens), where="")[:-1].tolist() == alone


def test_half_a_character_may_follow_where_the_other_half_can():
    matcher = compiled(Vocabulary(BYTES), grammar_of("guided_choice", ["é", "ü"]), where="")
    first, second = "é".encode()
    assert np.flatnonzero(computed(matcher, 256, where="")).tolist() == [first]
    assert matcher.consume_token(first)
    assert np.flatnonzero(computed(matcher, 256, where="")).tolist() == sorted([second, "ü".encode()[1]])


def test_the_alphabet_is_what_tokens_can_write_one_by_one():
    assert Vocabulary([*BYTES, END]).alphabet is None
    assert Vocabulary([b"a", b"b", b"xy", "é".encode(), b""]).alphabet == "abé"


def test_half_characters_that_nothing_completes_are_left_out():
    vocabulary = Vocabulary(["é".encode()[:1], "é".encode(), b"a"])
    matcher = compiled(vocabulary, grammar_of("guided_regex", ".*", vocabulary.alphabet), where="")
    assert computed(matcher, 3, where="").tolist() == [False, True, True, True]
