"""The vocabulary: masks equal checks of single tokens."""

import numpy as np
import pytest

from tests.guidance.vocabularies import BYTES, END, merged
from tfattn.guidance.grammar import field_grammar
from tfattn.guidance.guide import compute_mask
from tfattn.guidance.matcher import compile_grammar
from tfattn.guidance.vocabulary import Vocabulary


@pytest.mark.parametrize("begun", ["", "{", '{"', '{"a":', '{"a":1', '{"a":"é', "{}"])
def test_the_mask_equals_checks_of_single_tokens(begun):
    tokens = merged(seed=3)
    tokens.append(tokens[300])  # one token twice
    matcher = compile_grammar(Vocabulary(tokens), field_grammar("response_format", {"type": "json_object"}), where="")
    assert matcher.consume_tokens(list(begun.encode()))
    alone = [bool(token) and matcher.validate_tokens([number]) == 1 for number, token in enumerate(tokens)]
    assert compute_mask(matcher, len(tokens), where="")[:-1].tolist() == alone


def test_partial_characters_are_allowed_with_byte_tokens():
    matcher = compile_grammar(Vocabulary(BYTES), field_grammar("guided_choice", ["é", "ü"]), where="")
    first, second = "é".encode()
    assert np.flatnonzero(compute_mask(matcher, 256, where="")).tolist() == [first]
    assert matcher.consume_token(first)
    assert np.flatnonzero(compute_mask(matcher, 256, where="")).tolist() == sorted([second, "ü".encode()[1]])


def test_the_alphabet_has_single_character_tokens():
    assert Vocabulary([*BYTES, END]).alphabet is None
    assert Vocabulary([b"a", b"b", b"xy", "é".encode(), b""]).alphabet == "abé"


def test_partial_characters_are_excluded_without_byte_tokens():
    vocabulary = Vocabulary(["é".encode()[:1], "é".encode(), b"a"])
    matcher = compile_grammar(vocabulary, field_grammar("guided_regex", ".*", vocabulary.alphabet), where="")
    assert compute_mask(matcher, 3, where="").tolist() == [False, True, True, True]
