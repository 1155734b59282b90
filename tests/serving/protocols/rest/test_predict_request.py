"""Inputs of predict requests: rows 16 to 33, 40 and the limit on rows."""

import numpy as np
import pytest
import tensorflow as tf
from grpc import StatusCode
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.serving.stand_ins import FLOATS, TEXTS, signature
from tfattn.serving.api.failure import Failure
from tfattn.serving.protocols.rest.parse import parse
from tfattn.serving.protocols.rest.predict_request import InputParser, find_signature, signature_name

MATRIX = (tf.float32, [None, None])
ONE = signature("serving_default", {"x": FLOATS}, {"y": FLOATS})
TWO = signature("two", {"a": FLOATS, "b": TEXTS}, {"y": FLOATS})
WITH_DEFAULT = signature("default", {"a": FLOATS, "b": FLOATS}, {"y": FLOATS}, defaults={"b": np.float32([10])})
TEXT = signature("text", {"text": TEXTS}, {"y": FLOATS})


def reader(of=ONE, max_rows=100, cut=False):
    return InputParser(of, max_rows=max_rows, cut_integers=cut)


def read(body, of=ONE, **options):
    document = parse(body.encode(), max_nesting=100) if isinstance(body, str) else body
    return reader(of, **options).parse(document)


def inputs(body, of=ONE):
    return {name: array.tolist() for name, array in read(body, of).inputs.items()}


def refused(body, of=ONE, **options) -> str:
    with pytest.raises(Failure) as caught:
        read(body, of, **options)
    assert caught.value.code is StatusCode.INVALID_ARGUMENT
    return caught.value.message


def test_row_16_rows():
    request = read({"instances": [1.0, 2.0]})
    assert request.row_format and request.inputs["x"].tolist() == [1.0, 2.0]


def test_row_17_columns():
    for columns in ([3.0, 4.0], {"x": [3.0, 4.0]}):
        request = read({"inputs": columns})
        assert not request.row_format and request.inputs["x"].tolist() == [3.0, 4.0]


def test_row_18_the_signature():
    known = {"serving_default": ONE, "two": TWO}
    assert signature_name({}) == "" and find_signature(known, "") is ONE
    assert signature_name({"signature_name": "two"}) == "two" and find_signature(known, "two") is TWO
    with pytest.raises(Failure, match='Serving signature name: "s" not found in signature def') as caught:
        find_signature(known, "s")
    assert caught.value.http_status == 400


def test_row_19_the_signature_name_is_a_string():
    for name in (100, None, ["s"]):
        with pytest.raises(Failure, match="'signature_name' key must be a string value."):
            signature_name({"signature_name": name})


def test_row_23_rows_or_columns():
    message = "Not formatted correctly expecting only one of 'inputs' or 'instances' keys to exist"
    assert message in refused({"instances": [1.0], "inputs": [1.0]})


def test_row_24_neither():
    assert refused({"examples": []}) == "Missing 'inputs' or 'instances' key"


def test_row_25_rows_are_a_list_of_some():
    assert "Expecting 'instances' to be an list/array" in refused({"instances": 5})
    assert "No values in 'instances' array" in refused({"instances": []})


def test_row_26_plain_rows_for_two_inputs():
    assert refused({"instances": [1]}, TWO) == (
        "instances is a plain list, but expecting list of objects as multiple input tensors required as per "
        "tensorinfo_map"
    )


def test_row_27_the_names_of_a_row():
    assert refused({"instances": [{"a": 1.0, "b": "x"}, {"a": 1.0}]}, TWO) == (
        "Failed to process element: 1 of 'instances' list. JSON object: {\"a\": 1.0} keys must be equal to: a,b. "
        "Missing: b"
    )
    assert refused({"instances": [{"a": 1.0, "z": 1.0, "b": "x"}]}, TWO) == (
        "Failed to process element: 0 key: z of 'instances' list. Error: INVALID_ARGUMENT: JSON object: does not have "
        "named input: z"
    )
    assert "key: z of" in refused({"instances": [{"a": 1.0, "z": "x"}]}, TWO), "as many, but others"
    assert "keys must be equal to: x" in refused({"instances": [{}]})


def test_inputs_with_default_values_may_be_left_out():
    for body in ({"instances": [{"a": 1.0}, {"a": 2.0}]}, {"inputs": {"a": [1.0, 2.0]}}):
        assert inputs(body, WITH_DEFAULT) == {"a": [1.0, 2.0]}
    for body in ({"instances": [{"b": 3.0, "a": 1.0}]}, {"inputs": {"b": [3.0], "a": [1.0]}}):
        assert inputs(body, WITH_DEFAULT) == {"a": [1.0], "b": [3.0]}
    assert refused({"instances": [{"b": 1.0}]}, WITH_DEFAULT).endswith("keys must be equal to: a,b. Missing: a")
    assert refused({"inputs": {"b": [1.0]}}, WITH_DEFAULT) == "Missing named input: a in 'inputs' object."


def test_rows_leave_out_the_same_inputs():
    start = "Failed to process element: 1 of 'instances' list. JSON object: "
    assert refused({"instances": [{"a": 1.0, "b": 1.0}, {"a": 2.0}]}, WITH_DEFAULT) == (
        start + '{"a": 2.0} keys must be equal to: a,b. Missing: b'
    )
    assert refused({"instances": [{"a": 1.0}, {"a": 2.0, "b": 1.0}]}, WITH_DEFAULT) == (
        start + '{"a": 2.0, "b": 1.0} keys must be equal to: a. Not in the first row: b'
    )


def test_row_28_rows_of_different_kinds():
    for other in ([1.0], 1.0, "x", None, {"b64": "eA=="}):
        message = "Expecting object but got list at item 1 of input list"
        assert refused({"instances": [{"x": 1.0}, other]}) == message
    message = "Expecting value/list but got object at item 1 of input list"
    assert refused({"instances": [[1.0], {"x": 1.0}]}) == message
    assert refused({"instances": ["a", {"text": "b"}]}, TEXT) == message


def test_row_29_ragged_rows():
    start = "Failed to process element: {} of 'instances' list. Error: INVALID_ARGUMENT: "
    rows = [[1, 2], [3, 4], [5, 6, 7]]
    assert refused({"instances": rows}) == start.format(2) + "Expecting tensor size: 2 but got: 3"
    assert refused({"instances": [[1, 2], [[5, 6]]]}) == start.format(1) + "Expecting shape [2] but got: [1,2]"
    assert refused({"instances": [[1], 1]}) == start.format(1) + "Expecting shape [1] but got: []"
    assert "Encountered list at unexpected size: " in refused({"instances": [[[1, 2], [3]]]})
    named = refused({"instances": [{"a": [1], "b": "x"}, {"a": [1, 2], "b": "x"}]}, TWO)
    assert "element: 1 key: a of 'instances' list. Error: INVALID_ARGUMENT: Expecting tensor size: 1" in named


def test_row_30_the_names_of_columns():
    assert refused({"inputs": {"a": [1.0]}}, TWO) == "Missing named input: b in 'inputs' object."
    assert inputs({"inputs": {"b": ["x"], "z": None, "a": [1]}}, TWO) == {"a": [1.0], "b": [b"x"]}


def test_row_31_a_plain_column_for_two_inputs():
    for column in ([1.0], 1.0, {"b64": "eA=="}):
        assert refused({"inputs": column}, TWO) == (
            "inputs is a plain value/list, but expecting an object as multiple input tensors required as per "
            "tensorinfo_map"
        )


def test_row_32_a_scalar_column():
    assert read({"inputs": {"x": 1.0}}).inputs["x"].shape == ()
    assert read({"inputs": 1.0}).inputs["x"].shape == ()


def test_row_33_rows_by_the_name_of_the_only_input():
    assert inputs({"instances": [{"x": 1.0}, {"x": 2}]}) == {"x": [1.0, 2.0]}
    assert inputs({"instances": [{"x": [1]}, {"x": [2]}]}) == {"x": [[1.0], [2.0]]}


def test_row_39_b64_in_rows_and_columns():
    hello = {"b64": "aGVsbG8="}
    for rows in ([hello, "x"], ["hello", {"b64": "eA=="}], [{"text": hello}, {"text": "x"}]):
        assert inputs({"instances": rows}, TEXT) == {"text": [b"hello", b"x"]}
    assert inputs({"instances": [[hello], ["x"]]}, TEXT) == {"text": [[b"hello"], [b"x"]]}
    for column in (hello, {"text": hello}):
        assert inputs({"inputs": column}, TEXT) == {"text": b"hello"}
    assert inputs({"inputs": [hello]}, TEXT) == {"text": [b"hello"]}


def test_row_40_columns_of_half_are_not_implemented():
    half = signature("half", {"x": (tf.half, [None])}, {"y": FLOATS})
    with pytest.raises(Failure, match="Conversion of JSON Value: 1.0 to type: half") as caught:
        read({"inputs": [1.0]}, half)
    assert caught.value.http_status == 501
    assert "Error: UNIMPLEMENTED: Conversion of JSON Value: 1.0 to type: half" in refused({"instances": [1.0]}, half)


def test_a_signature_without_inputs():
    nothing = signature("nothing", {}, {"y": FLOATS})
    assert refused({"instances": [1.0]}, nothing) == "Failed to get input map for signature: nothing"


def test_integers_are_truncated_if_configured():
    small = signature("small", {"x": (tf.uint8, [None])}, {"y": FLOATS})
    assert "Type: Number is not of expected type: uint8" in refused({"instances": [300]}, small)
    assert read({"instances": [300]}, small, cut=True).inputs["x"].tolist() == [44]


def test_the_number_of_rows_is_limited():
    fixed = signature("fixed", {"x": (tf.float32, [4])}, {"y": FLOATS})
    assert read({"instances": [1, 2, 3]}, max_rows=3) and read({"inputs": [1, 2, 3]}, max_rows=3)
    assert read({"inputs": [1, 2, 3, 4]}, fixed, max_rows=3), "no rows, but one tensor of a fixed size"
    for body in ({"instances": [1, 2, 3, 4]}, {"inputs": [1, 2, 3, 4]}, {"inputs": {"x": [1, 2, 3, 4]}}):
        assert refused(body, max_rows=3) == "4 rows exceed the server's limit of 3 rows per request"


ANY = st.recursive(
    st.sampled_from([None, True, 1, 1.5, "x", {"b64": "eA=="}, {"b64": "!"}]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "x", "b64"]), inner, max_size=3)
    ),
    max_leaves=10,
)


@settings(deadline=None)
@given(
    st.dictionaries(st.sampled_from(["instances", "inputs"]), ANY | st.lists(ANY, max_size=3), min_size=1),
    st.sampled_from([ONE, TWO, TEXT]),
)
def test_any_request_is_parsed_or_refused(document, of):
    try:
        request = reader(of).parse(document)
    except Failure as failure:
        assert failure.code is StatusCode.INVALID_ARGUMENT
    else:
        assert all(name in of.inputs for name in request.inputs)
        assert all(array is not None for array in request.inputs.values())
