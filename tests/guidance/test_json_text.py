"""JSON as expressions: what may be written is what a reader of JSON reads."""

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.guidance.vocabularies import fits
from tfattn.guidance import json_text
from tfattn.guidance.code_points import EVERY, without
from tfattn.guidance.expressions import Repeat, Rule, exactly, optional

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
FINITE = st.floats(allow_nan=False, allow_infinity=False, min_value=-9e307, max_value=9e307)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(10**20), 10**20), FINITE, TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=8,
)


@settings(deadline=None)
@given(VALUES, st.booleans(), st.booleans())
def test_every_value_can_be_written_as_python_writes_it(value, ensure_ascii, is_compact):
    separators = (",", ":") if is_compact else (", ", ": ")
    text = json.dumps(value, ensure_ascii=ensure_ascii, separators=separators)
    assert fits(Rule("value"), text, dict(json_text.any_value()))


@settings(deadline=None)
@given(VALUES)
def test_a_literal_is_one_value(value):
    assert fits(json_text.literal(value), json.dumps(value, ensure_ascii=False))
    assert fits(json_text.literal(value), json.dumps(value, ensure_ascii=False, separators=(",", ":")))
    assert not fits(json_text.literal(value), json.dumps([value]))


@pytest.mark.parametrize(
    "text",
    ["01", "-", "1.", ".5", "1e", "1e308", "-1E+999", "+1", "12e1", "NaN", "Infinity", "1" * 22, "0x1", "1e3080"],
)
def test_no_number_is_written_that_a_reader_does_not_take(text):
    assert not fits(json_text.NUMBER, text)


@pytest.mark.parametrize("text", ["0", "-0", "10", "-1.50", "1e5", "1E-400", "9.9e+307", "0.1e01", "1e-07"])
def test_numbers_as_they_are_written(text):
    assert fits(json_text.NUMBER, text) and json.loads(text) == float(text)
    assert fits(json_text.INTEGER, text) == text.lstrip("-").isdecimal()


@pytest.mark.parametrize(
    "text", ['"\n"', '"\\x41"', '"\\u12"', '"\\ud800"', '"\\ude00\\ud83d"', '"\\ud83d\\u0041"', '"', '"a""']
)
def test_no_string_is_written_that_a_reader_does_not_take(text):
    assert not fits(json_text.string(), text)


def test_characters_are_counted_however_they_are_written():
    pair = json_text.string(2, 2)
    for text in ("ab", "é😀", '\\n\\"', "\\u00e9\\ud83d\\uDE00", "\\/\\\\"):
        assert len(json.loads(f'"{text}"')) == 2
        assert fits(pair, f'"{text}"')
    assert not any(fits(pair, f'"{text}"') for text in ("a", "abc", "😀", "\\ud83d\\ude00"))


def test_arrays_have_as_many_items_as_they_may():
    for least, most in ((0, None), (1, None), (0, 0), (0, 1), (2, 3), (3, 3)):
        for count in range(5):
            text = json.dumps([7] * count)
            expected = least <= count and (most is None or count <= most)
            assert fits(json_text.array(json_text.INTEGER, least, most), text) == expected


@pytest.mark.parametrize("needed", [(), ("a",), ("b",), ("c",), ("a", "c"), ("a", "b", "c")])
@pytest.mark.parametrize("allows_others", [False, True])
def test_objects_have_their_properties_in_order(needed, allows_others):
    properties = [json_text.Property(name, json_text.NULL, name in needed) for name in "abc"]
    expression = json_text.object_of(properties, others=exactly("1") if allows_others else None)
    for number in range(16):
        names = [name for place, name in enumerate("abcd") if number >> place & 1]
        text = json.dumps({name: 1 if name == "d" else None for name in names})
        expected = set(needed) <= set(names) and (allows_others or "d" not in names)
        assert fits(expression, text) == expected, text
    assert not fits(expression, '{"b": null, "a": null}')
    assert not fits(expression, '{"a": null, "b": null, "c": null, "c": 1}')
    assert not fits(expression, '{,"a": null}') and not fits(expression, '{"c": null,}')


@settings(deadline=None, max_examples=30)
@given(st.lists(TEXTS, max_size=4), TEXTS)
@example(["ab", "a"], "a")
@example(["ab", "a"], "abc")
@example(['"\n\\'], '"\n')
def test_other_names_are_none_of_the_known_ones(names, name):
    properties = [json_text.Property(known, json_text.NULL, False) for known in dict.fromkeys(names)]
    expression = json_text.object_of(properties, others=exactly("1"))
    assert fits(expression, json.dumps({name: 1}, ensure_ascii=False)) == (name not in names)


def test_a_known_name_cannot_be_written_in_another_way():
    expression = json_text.object_of([json_text.Property("a", json_text.NULL, False)], others=exactly("1"))
    assert not fits(expression, '{"\\u0061":1}')
    assert fits(expression, '{"b\\u0061":1}')


@settings(deadline=None)
@given(TEXTS)
def test_every_character_has_one_form_inside_a_string(text):
    expression = Repeat(json_text.quoted(EVERY))
    assert fits(expression, json.dumps(text, ensure_ascii=False)[1:-1])
    assert not fits(optional(json_text.quoted(without(EVERY, [(9, 9)]))), "\\t")
