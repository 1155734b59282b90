"""Serialization of outputs as JSON: rows 46 to 50."""

import json
import math

import ml_dtypes
import numpy as np
import pytest
from grpc import StatusCode
from hypothesis import given, settings
from hypothesis import strategies as st

from tfattn.serving.api.failure import Failure
from tfattn.serving.api.tensors import strings
from tfattn.serving.protocols.rest.predict_response import is_large, shortest_floats, write

X = np.float32([2.5, 3])


def rows(texts_as_b64=True, **outputs):
    return write(outputs, row_format=True, texts_as_b64=texts_as_b64)


def columns(texts_as_b64=True, **outputs):
    return write(outputs, row_format=False, texts_as_b64=texts_as_b64)


def refused(row_format=True, **outputs) -> str:
    with pytest.raises(Failure) as caught:
        write(outputs, row_format=row_format, texts_as_b64=True)
    assert caught.value.code is StatusCode.INVALID_ARGUMENT
    return caught.value.message


def test_row_46_the_name_of_one_output_is_left_out():
    assert rows(y=X) == b'{"predictions": [2.5, 3.0]}'
    assert columns(y=X) == b'{"outputs": [2.5, 3.0]}'
    assert json.loads(rows(b=X, a=X.reshape(2, 1))) == {"predictions": [{"a": [2.5], "b": 2.5}, {"a": [3.0], "b": 3.0}]}
    assert json.loads(columns(b=X, a=np.float32(1))) == {"outputs": {"a": 1.0, "b": [2.5, 3.0]}}
    assert refused() == "Cannot convert empty tensor map to JSON"


def test_row_47_rows_need_an_entry_each():
    assert refused(b=X[:1], a=X) == "Tensor name: b has inconsistent batch size: 1 expecting: 2"
    assert refused(y=np.float32(1)) == "Tensor name: y has no shape information "
    assert json.loads(columns(b=X[:1], a=X)) == {"outputs": {"a": [2.5, 3.0], "b": [2.5]}}
    assert columns(y=np.float32(1)) == b'{"outputs": 1.0}'


def test_row_48_no_rows():
    assert rows(y=X[:0]) == b'{"predictions": []}'
    assert rows(y=X[:0], z=X[:0]) == b'{"predictions": []}'
    assert rows(y=np.empty((2, 0), np.float32)) == b'{"predictions": [[], []]}'


def test_row_49_bytes_and_texts():
    texts = strings([b"hello", 'é\n"'.encode(), b"\xff\x00"])
    assert json.loads(rows(y=texts)) == {"predictions": ["hello", 'é\n"', {"b64": "/wA="}]}
    assert json.loads(rows(y_bytes=texts[:1])) == {"predictions": [{"b64": "aGVsbG8="}]}
    assert json.loads(rows(y=texts[:1].reshape(1, 1))) == {"predictions": [["hello"]]}
    assert "é".encode() in rows(y=texts), "UTF-8, no escapes"
    assert rows(y=texts[2:], texts_as_b64=False) == b'{"predictions": ["\xff\\u0000"]}', "as TF Serving"
    assert rows(y=np.array(b"scalar", object).reshape(1)) == b'{"predictions": ["scalar"]}'
    assert columns(y=np.array(b"scalar", object)) == b'{"outputs": "scalar"}'


def test_row_50_numbers():
    given = np.float32([0.1, 3, -0.0, 1e-20, 1e20, 16777216, math.nan, math.inf, -math.inf])
    assert columns(y=given) == (b'{"outputs": [0.1, 3.0, -0.0, 1e-20, 1e+20, 16777216.0, NaN, Infinity, -Infinity]}')
    assert columns(y=np.float64([0.1, 1 / 3])) == b'{"outputs": [0.1, 0.3333333333333333]}'
    for dtype in (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint32, np.uint64):
        limits = np.iinfo(dtype)
        assert json.loads(columns(y=np.array([limits.min, limits.max], dtype)))["outputs"] == [limits.min, limits.max]
    assert columns(y=np.array([True, False])) == b'{"outputs": [true, false]}'
    for dtype, name in ((np.float16, "half"), (ml_dtypes.bfloat16, "bfloat16"), (np.complex64, "complex64")):
        assert refused(y=np.ones(2, dtype)) == f"Failed to write JSON value for tensor type: {name}"


@settings(deadline=None)
@given(st.lists(st.floats(width=32)), st.lists(st.floats()))
def test_floats_survive_serialization(singles, doubles):
    for numbers, dtype in ((singles, np.float32), (doubles, np.float64)):
        given = np.array(numbers, dtype)
        found = np.array(json.loads(columns(y=given))["outputs"], np.float64)
        with np.errstate(over="ignore"):
            assert np.array_equal(found.astype(dtype), given, equal_nan=True)


@settings(deadline=None)
@given(st.lists(st.binary()))
def test_texts_survive_serialization(texts):
    found = json.loads(rows(y=strings(texts)))["predictions"]
    assert len(found) == len(texts)
    for text, sent in zip(found, texts, strict=True):
        assert type(text) is dict or text.encode() == sent


def test_long_answers():
    given = np.arange(5000, dtype=np.int64)
    assert json.loads(rows(y=given)) == {"predictions": list(range(5000))}
    assert json.loads(columns(a=given, b=given[:1])) == {"outputs": {"a": list(range(5000)), "b": [0]}}
    assert json.loads(rows(a=given, b=given))["predictions"] == [{"a": row, "b": row} for row in range(5000)]


def test_large_outputs_are_detected():
    assert not is_large({"y": X, "t": strings([b"x" * 1000])})
    assert is_large({"y": np.zeros(20_000, np.float32)})
    assert is_large({"t": strings([b"x" * 300_000])})


FLOATS = st.lists(st.floats(width=32), max_size=4)


@settings(deadline=None)
@given(FLOATS, st.sampled_from([0, 60]))
def test_results_equal_the_float32_and_are_shortest(numbers, more):
    given = np.array(numbers + [0.5] * more, np.float32)
    found = shortest_floats(given)
    assert found.dtype == np.float64
    with np.errstate(over="ignore"):
        assert np.array_equal(found.astype(np.float32), given, equal_nan=True)
    for number, exact in zip(found.tolist(), given, strict=True):
        assert repr(number) == repr(float(str(exact)))


@pytest.mark.parametrize("count", [1, 1000])
def test_common_decimals(count):
    numbers = np.full(count, 0.1, np.float32)
    assert shortest_floats(numbers).tolist() == [0.1] * count
    assert shortest_floats(np.full((count, 2), 16777216, np.float32)).tolist() == [[16777216.0] * 2] * count
    assert shortest_floats(np.full(count, 3.4028235e38, np.float32)).tolist() == [3.4028235e38] * count
    assert shortest_floats(np.full(count, 1e-45, np.float32)).tolist() == [1e-45] * count


def test_shapes_are_kept():
    for shape in ((), (0,), (2, 0), (3, 1), (10, 10, 2)):
        assert shortest_floats(np.ones(shape, np.float32)).shape == shape
