"""JSON values as dense tensors: rows 34 to 40."""

import base64
import json
import math

import numpy as np
import pytest
import tensorflow as tf
from grpc import StatusCode
from hypothesis import given, settings
from hypothesis import strategies as st

from tfattn.serving.api.failure import Failure
from tfattn.serving.protocols.rest.dense import check, decode_b64, dense
from tfattn.serving.protocols.rest.parse import parse

INTEGERS = [tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8, tf.uint32, tf.uint64]
TYPES = [tf.float32, tf.float64, *INTEGERS, tf.bool, tf.string, tf.half, tf.complex64, tf.uint16]
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-300, 300)
    | st.sampled_from([2**31 - 1, 2**31, 2**63, -(2**63) - 1, 2**64, 10**400, 1.7e308, math.inf])
    | st.floats()
    | st.text(max_size=3)
    | st.sampled_from([{"b64": "aGVsbG8="}, {"b64": "!"}, {"b64": 5}, {"b64": "aA==", "x": 1}, {}])
)
RAGGED = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3), max_leaves=12)


@st.composite
def shaped(draw):
    """Generate nested lists of equal sizes with leaves of one kind."""
    leaf = draw(st.sampled_from([st.booleans(), st.integers(-300, 300), st.floats(), st.text(max_size=3), LEAVES]))
    value = leaf
    for size in draw(st.lists(st.integers(0, 3), max_size=3)):
        value = st.lists(value, min_size=size, max_size=size)
    return draw(value)


def array(value, dtype, cut=False):
    check(value, dtype, cut_integers=cut)
    return dense(value, dtype, cut_integers=cut)


def refused(value, dtype, cut=False):
    assert dense(value, dtype, cut_integers=cut) is None
    with pytest.raises(Failure) as caught:
        check(value, dtype, cut_integers=cut)
    return caught.value.message


def test_shapes():
    for value, shape in ((1.5, ()), ([], (0,)), ([[], []], (2, 0)), ([[1], [2], [3]], (3, 1)), ([[[1, 2]]], (1, 1, 2))):
        found = array(value, tf.float32)
        assert found.shape == shape and found.dtype == np.float32
        assert found.tolist() == value
    assert array([], tf.string).dtype == object
    assert array([[]], tf.half).shape == (1, 0)


def test_row_29_ragged_lists():
    assert refused([[1, 2], [3]], tf.float32) == "Encountered list at unexpected size: 1 at level: 1 expected size: 2"
    assert refused([1, [2]], tf.float32) == "Encountered list at unexpected level: 1 expected < 1"
    assert refused([[1], 2], tf.float32) == (
        "JSON Value: 2 found at incorrect level: 2 in the JSON DOM. Expected at level: 2"
    )
    assert "unexpected size" in refused([[], [1]], tf.float32)
    deep = 1
    for _ in range(65):
        deep = [deep]
    assert "has more than 64 dimensions" in refused(deep, tf.float32)
    assert array(deep[0], tf.float32).ndim == 64


def test_row_34_texts_for_numbers():
    assert refused(["x"], tf.float32) == 'JSON Value: "x" Type: String is not of expected type: float'
    assert "Type: String is not of expected type: int32" in refused(["1"], tf.int32)
    assert "Type: Number is not of expected type: string" in refused([1], tf.string)


def test_row_35_numbers_booleans_and_null():
    assert array([1, 2.5, 2**62 + 1], tf.float64).tolist() == [1.0, 2.5, 2.0**62]
    for dtype in (tf.float32, tf.float64):
        assert array([1, 2], dtype).dtype == dtype.as_numpy_dtype
        assert "Type: True is not of expected type" in refused([1.0, True], dtype)
        assert "Type: Null is not of expected type" in refused([1.0, None], dtype)
    for dtype in INTEGERS:
        assert array([1, 100], dtype).tolist() == [1, 100]
        assert "Type: Number is not of expected type" in refused([1, 1.0], dtype)
        assert "Type: False is not of expected type" in refused([1, False], dtype)
        assert "Type: Null" in refused([None], dtype)
    assert array([True, False], tf.bool).tolist() == [True, False]
    for number in (0, 1, 1.0):
        assert "Type: Number is not of expected type: bool" in refused([number], tf.bool)


def test_row_36_beyond_float32():
    found = array([1.7e308, -1.7e308, 1e-300, 1435774380, 10**100], tf.float32)
    assert found.tolist() == [math.inf, -math.inf, 0.0, 1435774336.0, math.inf]
    for text in ("1e400", "1" + "0" * 400):
        value = parse(f'{{"x": [1, {text}]}}'.encode(), max_nesting=9)["x"]
        for dtype in (tf.float32, tf.float64):
            assert refused(value, dtype) == "JSON Parse error: Number too big to be stored in double."


def test_row_37_infinity_as_a_number():
    value = parse(b'{"x": [NaN, Infinity, -Infinity, 1]}', max_nesting=9)["x"]
    for dtype in (tf.float32, tf.float64):
        assert np.array_equal(array(value, dtype), [math.nan, math.inf, -math.inf, 1], equal_nan=True)
    assert "Type: Number is not of expected type: int32" in refused(value, tf.int32)


def test_row_38_integers_beyond_their_type():
    for dtype in INTEGERS:
        assert array([dtype.min, dtype.max], dtype).tolist() == [dtype.min, dtype.max]
        for value in (dtype.min - 1, dtype.max + 1):
            message = f"JSON Value: {value} Type: Number is not of expected type: {dtype.name}"
            assert refused([value], dtype) == message
    assert array([300, -1], tf.uint8, cut=True).tolist() == [44, 255]
    assert array([999], tf.int8, cut=True).tolist() == [-25]
    assert array([40_000], tf.int16, cut=True).tolist() == [-25_536]
    for dtype in (tf.uint8, tf.int32):
        assert "not of expected type" in refused([2**31], dtype, cut=True)


def test_row_39_b64():
    hello = {"b64": "aGVsbG8="}
    assert array([[hello], ["é"]], tf.string).tolist() == [[b"hello"], ["é".encode()]]
    for value in ({"b64": "aGVsbG8=", "x": 1}, {"b64": 5}, {"x": "aGVsbG8="}, {}):
        message = f"JSON Value: {json.dumps(value)} not formatted correctly for base64 data"
        assert refused([value], tf.string) == message
    for text in ("!!!!", "a", "aGVs=bG8", "é", "aGVsbG8==="):
        assert refused([{"b64": text}], tf.string) == "Unable to base64 decode"
    message = 'JSON Value: {"b64": "aGVsbG8="} Type: Object is not of expected type: float'
    assert refused([hello], tf.float32) == message


@settings(deadline=None)
@given(st.binary())
def test_row_39_b64_with_or_without_padding_and_line_ends(content):
    text = base64.b64encode(content).decode()
    lines = "\n".join(text[start : start + 5] for start in range(0, len(text), 5))
    for form in (text, text.rstrip("="), lines):
        assert decode_b64({"b64": form}) == content


def test_row_40_types_without_a_json_form():
    for dtype, name in ((tf.half, "half"), (tf.bfloat16, "bfloat16"), (tf.complex64, "complex64")):
        assert dense([1.0], dtype, cut_integers=False) is None
        with pytest.raises(Failure, match=f"Conversion of JSON Value: 1.0 to type: {name}") as caught:
            check([1.0], dtype, cut_integers=False)
        assert caught.value.code is StatusCode.UNIMPLEMENTED and caught.value.http_status == 501


def test_row_45_little_is_quoted():
    assert len(refused([{"x": "y" * 10_000}], tf.float32)) < 400
    assert len(refused([[1.0]] + ["x" * 10_000], tf.float32)) < 400


@settings(deadline=None)
@given(RAGGED | shaped(), st.sampled_from(TYPES), st.booleans())
def test_conversions_are_correct_and_failures_have_a_reason(value, dtype, cut):
    found = dense(value, dtype, cut_integers=cut)
    if found is None:
        with pytest.raises(Failure):
            check(value, dtype, cut_integers=cut)
        return
    count, shape = check(value, dtype, cut_integers=cut)
    assert found.dtype == dtype.as_numpy_dtype and list(found.shape) == shape and found.size == count
    leaves = [value]
    while leaves and type(leaves[0]) is list:
        leaves = [leaf for inner in leaves for leaf in inner]
    for leaf, converted in zip(leaves, found.ravel().tolist(), strict=True):
        if dtype == tf.string:
            assert converted == (leaf.encode() if type(leaf) is str else base64.b64decode(leaf["b64"]))
        elif dtype in (tf.float32, tf.float64):
            assert type(leaf) in (int, float)
            with np.errstate(over="ignore"):
                assert np.array_equal(converted, dtype.as_numpy_dtype(float(leaf)), equal_nan=True)
        elif cut and dtype in (tf.int8, tf.int16, tf.uint8):
            assert (converted - leaf) % 2 ** (8 * dtype.size) == 0
        else:
            assert type(leaf) is type(converted) and leaf == converted
