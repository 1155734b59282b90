"""Classify and regress requests and responses: rows 51 to 54."""

import json
import math

import numpy as np
import pytest
from grpc import StatusCode
from hypothesis import given, settings
from hypothesis import strategies as st
from tensorflow.core.example.example_pb2 import Example

from tfattn.serving.api.failure import Failure
from tfattn.serving.protocols.rest.examples import read, write_classes, write_values
from tfattn.serving.protocols.rest.parse import parse


def features(document, max_rows=100):
    """Return the features of parsed examples by kind."""
    if type(document) is str:
        document = parse(document.encode(), max_nesting=100)
    found = []
    for serialized in read(document, max_rows=max_rows):
        feature = Example.FromString(serialized).features.feature
        found.append({name: _values(feature[name]) for name in feature})
    return found


def _values(feature):
    kind = feature.WhichOneof("kind")
    return (kind, list(getattr(feature, kind).value)) if kind else None


def refused(document, **options) -> str:
    with pytest.raises(Failure) as caught:
        features(document, **options)
    assert caught.value.code is StatusCode.INVALID_ARGUMENT
    return caught.value.message


def one(value) -> dict:
    return features({"examples": [{"x": value}]})[0]["x"]


def test_rows_51_and_52_the_answers():
    assert write_classes([[("", 12.0)]]) == b'{"results": [[["", 12.0]]]}'
    score = float(np.float32(0.1))
    assert json.loads(write_classes([[("é", score), ("b", math.inf)], []])) == {
        "results": [[["é", 0.1], ["b", math.inf]], []]
    }
    assert write_values([42.0, score]) == b'{"results": [42.0, 0.1]}'


def test_features_of_each_kind():
    assert one(20.0) == ("float_list", [20.0]) and one([1.5, 2.5]) == ("float_list", [1.5, 2.5])
    assert one(20) == ("int64_list", [20]) and one([True, False, 7]) == ("int64_list", [1, 0, 7])
    assert one("é") == ("bytes_list", ["é".encode()])
    assert one(["a", {"b64": "aGVsbG8="}]) == ("bytes_list", [b"a", b"hello"])
    assert one([]) is None
    assert one([-(2**63), 2**63 - 1]) == ("int64_list", [-(2**63), 2**63 - 1])
    assert one(2.0**70) == ("float_list", [2.0**70]) and one(2**70) == ("float_list", [2.0**70])
    assert one(1e300) == ("float_list", [math.inf])


def test_row_37_infinity_and_row_36_too_big():
    assert features('{"examples": [{"x": [Inf, -Infinity]}]}') == [{"x": ("float_list", [math.inf, -math.inf])}]
    for number in ("1e400", "1" + "0" * 400):
        assert "Number too big" in refused(f'{{"examples": [{{"x": {number}}}]}}')


def test_row_53_a_context_gives_defaults_for_every_example():
    document = {"context": {"x": 1.0, "y": 2}, "examples": [{}, {"x": 3.0}, {"z": "a"}]}
    assert features(document) == [
        {"x": ("float_list", [1.0]), "y": ("int64_list", [2])},
        {"x": ("float_list", [3.0]), "y": ("int64_list", [2])},
        {"x": ("float_list", [1.0]), "y": ("int64_list", [2]), "z": ("bytes_list", [b"a"])},
    ]
    assert refused({"context": 5, "examples": [{}]}) == "Example must be JSON object but got JSON Number"


def test_row_53_examples_are_a_list_of_some():
    assert "key 'examples' is expected and was not found" in refused({"instances": []})
    assert "Expecting 'examples' value to be an list/array" in refused({"examples": {"x": 1.0}})
    assert "'examples' value is an empty array" in refused({"examples": []})
    assert (
        refused({"examples": [{}] * 3}, max_rows=2) == "3 examples exceed the server's limit of 2 examples per request"
    )


def test_row_53_invalid_features():
    for example, kind in ((1.0, "Number"), ([], "Array"), ("x", "String"), (None, "Null"), (True, "True")):
        assert refused({"examples": [example]}) == f"Example must be JSON object but got JSON {kind}"
    for value, kind in ((None, "Null"), ([[1]], "Array"), ({"x": 1}, "Object"), ([{"b64": 5}], "Object")):
        assert refused({"examples": [{"x": value}]}) == f"Feature: x has element with unexpected JSON type: {kind}"
    for values, kind in (([1, "a"], "int64"), (["a", 1], "bytes"), ([1.5, 1], "float"), ([1, 1.5], "int64")):
        message = f"Unexpected element type in feature: x expecting type: {kind}"
        assert refused({"examples": [{"x": values}]}) == message
    message = "Feature: x has uint64_t element. Only int64_t is supported."
    for number in (2**63, 2**64 - 1):
        assert refused({"examples": [{"x": number}]}) == message
    assert refused({"examples": [{"x": {"b64": "!"}}]}) == "Unable to base64 decode"


LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.just({"b64": "eA=="})
ANY = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner), max_leaves=9
)


@settings(deadline=None)
@given(
    st.fixed_dictionaries(
        {"examples": st.lists(st.dictionaries(st.text(max_size=3), ANY), max_size=3)}, optional={"context": ANY}
    )
)
def test_any_document_is_parsed_or_refused(document):
    try:
        features(document)
    except Failure as failure:
        assert failure.code is StatusCode.INVALID_ARGUMENT
