"""Grammars of request fields: allowed texts are exactly the valid texts."""

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.guidance.vocabularies import fits

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x7f"), max_size=8)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
EXACT = st.one_of(st.none(), st.booleans(), st.integers(-(2**53), 2**53), TEXTS)
ATOMS = st.sampled_from(["a", "b", "é", ".", "[ab]", "[^a]", r"\d", r"\W", "[a-c1]", r"\.", r"[\]\-x]", r"[\d.]", "/"])
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


def values(leaves):
    return st.recursive(
        leaves,
        lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
        max_leaves=8,
    )


@settings(deadline=None)
@given(values(EXACT | FINITE), st.booleans())
def test_json_of_python_is_valid(value, is_compact):
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":") if is_compact else (", ", ": "))
    assert fits("guided_json", True, text)


@settings(deadline=None)
@given(values(EXACT))
def test_a_constant_has_one_valid_text(value):
    assert fits("guided_json", {"const": value}, json.dumps(value, ensure_ascii=False))
    assert not fits("guided_json", {"const": value}, json.dumps([value]))


@pytest.mark.parametrize(
    "text",
    ["01", "-", "1.", ".5", "1e", "+1", "12e", "NaN", "Infinity", "0x1"]
    + ['"\n"', '"\\x41"', '"\\u12"', '"\\ud800"', '"\\ud83d\\u0041"', '"', '"a""', "[1,]", "[ 1]", "{,}", "1 ", "\n1"],
)
def test_only_valid_json_is_allowed(text):
    assert not fits("guided_json", True, text)


@settings(deadline=None)
@given(PATTERNS, st.text("abcé1.-]/\n", max_size=6))
def test_a_pattern_matches_whole_texts(pattern, text):
    matches = re.fullmatch(pattern, text, flags=re.ASCII) is not None
    assert fits("guided_regex", pattern, text) == matches


def test_anchors_are_allowed_at_both_ends():
    assert fits("guided_regex", "^a+$", "aa")
    assert fits("guided_regex", r"\u00e9\x41\t[\n]", "éA\t\n")


@settings(deadline=None)
@given(st.lists(TEXTS.filter(len), min_size=1, max_size=4), TEXTS)
def test_a_choice_is_one_of_its_texts_and_no_other(texts, text):
    assert all(fits("guided_choice", texts, one) for one in texts)
    assert fits("guided_choice", texts, text) == (text in texts)
