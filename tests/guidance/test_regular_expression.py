"""Patterns match what Python's match as a whole."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.guidance.vocabularies import fits
from tfattn.errors import ServingError
from tfattn.guidance.regular_expression import parsed

ATOMS = st.sampled_from(["a", "b", "é", ".", "[ab]", "[^a]", r"\d", r"\W", "[a-c1]", r"\.", r"[\]\-x]", r"[\d.]"])
PATTERNS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map("|".join),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,}", "{0,2}"])).map(
            lambda one: f"(?:{one[0]}){one[1]}"
        ),
        inner.map("({})".format),
    ),
    max_leaves=6,
)


@settings(deadline=None)
@given(PATTERNS, st.text("abcé1.-]\n", max_size=6))
def test_a_text_fits_where_the_whole_of_it_matches(pattern, text):
    matches = re.fullmatch(pattern, text, flags=re.ASCII) is not None
    assert fits(parsed(pattern, where="pattern"), text) == matches


def test_marks_of_both_ends_may_stand_there():
    assert fits(parsed("^a+$", where="pattern"), "aa")
    assert fits(parsed(r"\u00e9\x41\t[\n]", where="pattern"), "éA\t\n")


@pytest.mark.parametrize(
    ("pattern", "place", "expected"),
    [
        ("a(b", 4, "`\\)`, received its end"),
        ("a)", 2, "the end of the pattern"),
        ("[b-a]", 5, "a range"),
        ("[a", 3, "a character, received its end"),
        ("a(?=b)", 4, "nothing that looks around"),
        ("a+?", 3, "one count"),
        ("*a", 1, "a character, or this one behind a backslash"),
        (r"(a)\1", 5, "a class, or a character that means something"),
        ("a{2,1}", 7, "counts in order"),
        ("(?:a{100}){100}", 16, "of at most 1,000 together"),
        ("(" * 60 + ")" * 60, 51, "at most 50 groups"),
    ],
)
def test_what_cannot_be_held_to_is_named_with_its_place(pattern, place, expected):
    with pytest.raises(
        ServingError, match=f"guided_regex, character {place}: cannot read the pattern: expected .*{expected}"
    ):
        parsed(pattern, where="guided_regex")


def test_a_pattern_has_a_longest():
    with pytest.raises(ServingError, match="too long: expected at most 2,000, received 2,001 characters"):
        parsed("a" * 2001, where="guided_regex")
