"""Parsing of JSON: rows 20 to 22, 36, 37 and 41 to 45."""

import json
import math
import threading

import pytest
from grpc import StatusCode
from hypothesis import given, settings
from hypothesis import strategies as st

from tfattn.serving.api.failure import Failure
from tfattn.serving.protocols.rest.parse import LARGE, Spelled, check_size, parse

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
GRAMMAR = st.text(alphabet='{}[]",:\\u0dD8eE+-.19NaInfty x\n\x00é\U0001f600', max_size=60)


def read(text, max_nesting=100):
    return parse(text.encode() if isinstance(text, str) else text, max_nesting=max_nesting)


def refused(text, max_nesting=100) -> str:
    with pytest.raises(Failure) as caught:
        read(text, max_nesting)
    assert caught.value.code is StatusCode.INVALID_ARGUMENT
    return caught.value.message


def test_row_20_nothing():
    assert refused("") == "JSON Parse error: The document is empty"
    assert refused(" \n\t\r ") == "JSON Parse error: The document is empty"


def test_row_21_invalid_json_is_reported_with_its_offset():
    assert refused("instances = [1, 2]") == "JSON Parse error: Invalid value. at offset: 0"
    assert refused('{"é": nothing}') == "JSON Parse error: Invalid value. at offset: 7", "in bytes"
    assert refused('{"a": 1') == "JSON Parse error: Expecting ',' delimiter at offset: 7"
    assert refused('{"a": "b') == "JSON Parse error: Unterminated string starting at offset: 6"
    for text in (
        "{",
        "{'a': 1}",
        '{"a" 1}',
        '{"a": [1,]}',
        '{"a": 1,}',
        '{"a": 01}',
        '{"a": .5}',
        '{"a": "\n"}',
        '{"a": "\\',
    ):
        assert refused(text).startswith("JSON Parse error: "), text


def test_row_22_no_object():
    assert refused("[1]") == "JSON Value: [1] Is not object"
    assert refused('"x"') == 'JSON Value: "x" Is not object'
    assert refused("NaN") == "JSON Value: NaN Is not object"


def test_row_36_overflow_differs_from_infinity():
    values = read('{"x": [1e400, -1e400, Infinity, 1e308]}')["x"]
    for value in values[:2]:
        with pytest.raises(Failure, match="JSON Parse error: Number too big to be stored in double."):
            check_size(value)
    for value in values[2:]:
        check_size(value)
    with pytest.raises(Failure, match="Number too big"):
        check_size(10**400)
    assert "Number too big" in refused('{"x": ' + "9" * 5000 + "}"), "more digits than Python reads"


def test_row_37_not_a_number_and_infinities():
    values = read('{"x": [NaN, Infinity, -Infinity, Inf, -Inf, -NaN], "Inf": "-Inf [Inf] \\" Inf"}')
    assert values["Inf"] == '-Inf [Inf] " Inf', "texts stay as they are"
    numbers = values["x"]
    assert all(type(number) is Spelled for number in numbers)
    assert math.isnan(numbers[0]) and math.isnan(numbers[5])
    assert numbers[1:5] == [math.inf, -math.inf, math.inf, -math.inf]
    for word in ("Nan", "nan", "inf", "infinity", "INF", "+Inf", "--Inf", "--NaN", "-", "Infx", "Infinite"):
        assert refused(f'{{"x": [{word}]}}').startswith("JSON Parse error: "), word


def test_row_42_text_after_the_value_is_ignored():
    for rest in ("}", " and more", '{"a": 2}', "\x00", "[" * 200):
        assert read('\ufeff \n{"a": 1}' + rest) == {"a": 1}


def test_row_43_the_first_of_equal_keys_counts():
    assert read('{"a": 1, "b": 2, "a": {"c": 3, "c": 4}, "b": 5}') == {"a": 1, "b": 2}
    assert read('{"x": {"c": 3, "c": 4}}') == {"x": {"c": 3}}


@pytest.mark.parametrize("unit", ["[]", '{"a":}'])
def test_row_44_nesting_is_bounded_and_never_breaks_the_reader(unit):
    opening, closing = unit[:-1], unit[-1]

    def nested(depth):
        return '{"a": ' + opening * depth + "1" + closing * depth + "}"

    assert read(nested(99))
    assert refused(nested(100)) == "JSON Parse error: Nested deeper than 100 levels"
    assert refused(nested(500_000)) == "JSON Parse error: Nested deeper than 100 levels"
    assert refused(opening * 500_000).startswith("JSON Parse error: ")
    assert read(nested(500), max_nesting=0)
    assert refused(nested(500_000), max_nesting=0) == "JSON Parse error: Nested too deep"
    failures = []
    thread = threading.Thread(target=lambda: failures.append(refused(nested(500_000), max_nesting=0)))
    thread.start()
    thread.join()
    assert failures, "in a thread, whose stack is smaller"


def test_brackets_in_texts_and_side_by_side_are_no_depth():
    text = json.dumps({"a": ["[[{{" * 10, '"[', "\\", '\\"[['] * 10, "b": [[1]] * 200})
    assert read(text, max_nesting=3) == json.loads(text)
    assert refused(text, max_nesting=2) == "JSON Parse error: Nested deeper than 2 levels"


def test_text_that_is_not_utf_8():
    assert refused(b'{"a": "\xff"}') == "JSON Parse error: Invalid UTF-8 at offset: 7"
    assert refused(b'{"a": 1} \xc3').startswith("JSON Parse error: Invalid UTF-8")


def test_half_of_a_surrogate_pair():
    assert read('{"a": "\\ud83d\\ude00 \\uD55C \\\\ud83d"}') == {"a": "\U0001f600 \ud55c \\ud83d"}
    for text in (
        "\\ud83d",
        "\\ude00",
        "\\ud83d\\ud83d\\ude00",
        "\\ude00\\ud83d",
        "\\\\ud83d\\ude00",
        "\\ud83d \\ude00",
    ):
        assert "surrogate pair" in refused(f'{{"ignored": "{text}"}}'), text
    assert refused('{"\\ud83d": 1}') == "JSON Parse error: The surrogate pair in string is invalid. at offset: 2"


def test_row_45_little_is_quoted():
    assert len(refused(json.dumps(["x" * 10_000]))) < 300
    assert len(refused("[" * 90 + "1" + "]" * 90)) < 300
    assert len(refused(json.dumps([{"a": [1.5, None, True]}] * 1000))) < 300


@settings(deadline=None)
@given(st.dictionaries(st.text(), VALUES, max_size=4), st.booleans())
def test_json_from_python_is_parsed_equally(value, ensure_ascii):
    assert read(json.dumps(value, ensure_ascii=ensure_ascii)) == value


def test_a_large_body_is_parsed_equally():
    value = {"a": [1, -2.5e-3, 10**30, {"b": [None, True, "x" * LARGE]}]}
    text = json.dumps(value)
    assert read(text) == value
    assert read(text.replace("1,", "Inf,", 1))["a"][0] == math.inf
    assert refused(text[:-1]) == f"JSON Parse error: Expecting ',' delimiter at offset: {len(text) - 1}"
    assert "Number too big" in refused('{"a": ' + "9" * LARGE + "}")


@settings(deadline=None)
@given(
    st.binary(max_size=200) | GRAMMAR.map(str.encode) | GRAMMAR.map(lambda text: f'{{"a": {text}'.encode()),
    st.integers(0, 3),
)
def test_any_bytes_are_parsed_or_refused(body, max_nesting):
    try:
        value = parse(body, max_nesting=max_nesting)
    except Failure as failure:
        assert failure.code is StatusCode.INVALID_ARGUMENT
        json.dumps({"error": failure.message}).encode()
    else:
        assert type(value) is dict
        json.dumps(value, ensure_ascii=False).encode()
