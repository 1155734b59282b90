"""Networks as automata: rules inside themselves, and an end that can always be reached."""

import numpy as np
import pytest

from tests.guidance.vocabularies import fits
from tfattn.errors import ServingError
from tfattn.guidance import automaton as module
from tfattn.guidance.automaton import DEAD, Automaton
from tfattn.guidance.expressions import Repeat, Rule, Texts, between, choice, exactly, optional, sequence
from tfattn.guidance.network import MOST_CALLS, Network

LISTS = {"list": sequence(exactly("["), optional(Rule("list")), exactly("]"))}
LETTER = between("az")


def test_counts():
    for least, most in ((0, 0), (0, 1), (1, 1), (2, 4), (0, None), (1, None), (3, None)):
        for count in range(7):
            expected = least <= count and (most is None or count <= most)
            assert fits(Repeat(sequence(exactly("a"), exactly("b")), least, most), "ab" * count) == expected
            assert fits(sequence(Repeat(exactly("a"), least, most), exactly("x")), "a" * count + "x") == expected


def test_a_rule_may_stand_inside_itself():
    assert fits(Rule("list"), "[[[]]]", LISTS)
    assert not fits(Rule("list"), "[[[]]", LISTS)
    assert not fits(Rule("list"), "[[]]]", LISTS)


def test_nothing_is_begun_that_would_have_to_be_nested_too_deep_to_end():
    automaton = Automaton(Network(Rule("list"), LISTS))
    state = automaton.number(automaton.start)
    depth = 0
    while (deeper := automaton.after(state, b"[")) != DEAD:
        state, depth = deeper, depth + 1
    assert MOST_CALLS / 2 < depth <= MOST_CALLS + 1
    assert automaton.accepts(automaton.after(state, b"]" * depth))


def test_what_cannot_end_is_never_entered():
    endless = {"endless": sequence(exactly("("), Rule("endless"), exactly(")"))}
    assert Network(Rule("endless"), endless).is_empty
    assert Network(choice(), {}).is_empty
    automaton = Automaton(Network(choice(Rule("endless"), exactly("(a")), endless))
    state = automaton.after(automaton.number(automaton.start), b"(")
    assert automaton.after(state, b"(") == DEAD and automaton.accepts(automaton.after(state, b"a"))


def test_a_rule_that_begins_with_itself_is_what_else_it_may_be():
    rules = {"sum": choice(sequence(Rule("sum"), exactly("+"), LETTER), LETTER)}
    assert fits(Rule("sum"), "a+b+c", rules)
    assert not fits(Rule("sum"), "a+", rules)


def test_of_what_can_be_read_in_too_many_ways_some_are_followed_to_their_end(monkeypatch):
    monkeypatch.setattr(module, "MOST_THREADS", 8)
    twice = {
        "tree": sequence(
            exactly("("), optional(choice(Rule("tree"), sequence(Rule("tree"), exactly("")))), exactly(")")
        )
    }
    automaton = Automaton(Network(Rule("tree"), twice))
    state = automaton.after(automaton.number(automaton.start), b"(" * 40)
    assert len(automaton.threads(state)) <= 8
    assert automaton.accepts(automaton.after(state, b")" * 40))


def test_many_states_are_followed_as_each_alone():
    automaton = Automaton(Network(Repeat(choice(exactly("ab"), exactly("é"), exactly("a"))), {}))
    first = automaton.number(automaton.start)
    states = np.array([first, automaton.after(first, b"a"), DEAD, automaton.after(first, "é".encode()[:1])])
    for value in b"ab\xc3\xa9":
        alone = [automaton.after(int(state), bytes([value])) for state in states]
        assert automaton.next(states, np.full(4, value)).tolist() == alone


def test_a_full_table_is_begun_anew(monkeypatch):
    monkeypatch.setattr(module, "MOST_STATES", 10)
    automaton = Automaton(Network(Repeat(LETTER, 50, 50), {}))
    threads = automaton.start
    for _ in range(50):
        state = automaton.after(automaton.number(threads), b"q")
        threads = automaton.threads(state)
    assert automaton.accepts(automaton.number(threads))
    assert automaton.number(threads) < 20


def test_an_expression_that_is_too_large_is_refused():
    with pytest.raises(ServingError, match="too large: expected at most 100,000 states"):
        Network(exactly("a" * 100_001), {})


def test_texts_with_the_same_beginning_share_states():
    texts = Texts(tuple(f"number {number}é" for number in range(1000)))
    network = Network(texts, {})
    assert len(network.edges) < 4000
    automaton = Automaton(network)
    assert len(automaton.threads(automaton.after(automaton.number(automaton.start), b"number 7"))) == 1
    assert fits(texts, "number 77é") and not fits(texts, "number 77") and not fits(texts, "number 1000é")
    assert fits(Texts(("", "a")), "") and fits(Texts(("", "a")), "a")


def test_characters_that_cannot_be_written_are_left_out():
    assert Network(exactly("ab"), {}, alphabet=((97, 97),)).is_empty
    automaton = Automaton(Network(Repeat(choice(LETTER, exactly("ä"))), {}, alphabet=((97, 98),)))
    assert [automaton.after(automaton.number(automaton.start), text) == DEAD for text in (b"a", b"c", b"\xc3")] == [
        0,
        1,
        1,
    ]
