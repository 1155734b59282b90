"""Tokens that may follow: the same as if each was tried."""

import numpy as np
import pytest

from tests.guidance.vocabularies import BYTES, merged
from tfattn.guidance import json_text
from tfattn.guidance.automaton import DEAD, Automaton
from tfattn.guidance.code_points import EVERY
from tfattn.guidance.expressions import Repeat, Rule, choice, exactly
from tfattn.guidance.network import Network
from tfattn.guidance.tokens import Tokens


@pytest.mark.parametrize("begun", ["", "{", '{"', '{"a":', '{"a":1', '{"a":"é', "{}"])
def test_all_tokens_at_once_are_each_alone(begun):
    texts = merged(seed=3)
    texts.append(texts[300])  # one token twice
    tokens = Tokens(texts)
    automaton = Automaton(Network(Rule("object"), json_text.any_value()))
    state = automaton.after(automaton.number(automaton.start), begun.encode())
    allowed = tokens.allowed(automaton, state)
    alone = [bool(text) and automaton.after(state, text) != DEAD for text in texts]
    assert allowed.tolist() == alone


def test_half_a_character_may_follow_where_the_other_half_can():
    tokens = Tokens(BYTES)
    automaton = Automaton(Network(choice(exactly("é"), exactly("ü")), {}))
    first, second = "é".encode()
    state = automaton.number(automaton.start)
    assert np.flatnonzero(tokens.allowed(automaton, state)).tolist() == [first]
    state = automaton.after(state, bytes([first]))
    assert np.flatnonzero(tokens.allowed(automaton, state)).tolist() == sorted([second, "ü".encode()[1]])


def test_the_alphabet_is_what_tokens_can_write_one_by_one():
    assert Tokens(BYTES).alphabet == EVERY
    assert Tokens([b"a", b"b", b"xy", "é".encode(), b""]).alphabet == ((97, 98), (0xE9, 0xE9))


def test_half_characters_that_nothing_completes_are_left_out():
    halved = "é".encode()[:1]
    tokens = Tokens([halved, "é".encode(), b"a"])
    automaton = Automaton(Network(Repeat(json_text.CHARACTER), {}, tokens.alphabet))
    assert tokens.allowed(automaton, automaton.number(automaton.start)).tolist() == [False, True, True]
