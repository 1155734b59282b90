"""Classify and regress requests as serialized tf.Examples, and their responses."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from tensorflow.core.example.example_pb2 import Example
from tensorflow.core.example.feature_pb2 import Feature

from tfattn.serving.api.failure import invalid
from tfattn.serving.protocols.rest.dense import decode_b64, is_b64
from tfattn.serving.protocols.rest.parse import check_size, kind, quote
from tfattn.serving.protocols.rest.predict_response import shortest_floats

_INT64, _UINT64 = np.iinfo(np.int64), np.iinfo(np.uint64)


def read(document: Mapping[str, Any], *, max_rows: int) -> list[bytes]:
    """Read the examples of a body. Features of the `context` are defaults for each example.

    Args:
        document: a parsed JSON object.
        max_rows: the maximum number of examples.

    Raises:
        Failure: INVALID_ARGUMENT, there are no examples, or a feature is not valid in a tf.Example.
    """
    context = _example(document["context"]) if "context" in document else b""
    if "examples" not in document:
        raise invalid(
            f"JSON Value: {quote(document)} When method is classify, key 'examples' is expected and was not found"
        )
    examples = document["examples"]
    if type(examples) is not list:
        raise invalid(f"JSON Value: {quote(document)} Expecting 'examples' value to be an list/array")
    if not examples:
        raise invalid(f"JSON Value: {quote(document)} 'examples' value is an empty array")
    if len(examples) > max_rows:
        raise invalid(f"{len(examples)} examples exceed the server's limit of {max_rows} examples per request")
    # The concatenation of two serialized messages is their merged message.
    return [context + _example(example) for example in examples]


def write_classes(classes: Sequence[Sequence[tuple[str, float]]]) -> bytes:
    """Serialize the response to a classify request.

    Args:
        classes: the labels and float32 scores of each example.
    """
    scores = iter(_shortest([score for row in classes for _, score in row]))
    return json.dumps({"results": [[[label, next(scores)] for label, _ in row] for row in classes]}).encode()


def write_values(values: Sequence[float]) -> bytes:
    """Serialize the response to a regress request.

    Args:
        values: a float32 number for each example.
    """
    return json.dumps({"results": _shortest(values)}).encode()


def _shortest(numbers: Sequence[float]) -> list[float]:
    return shortest_floats(np.array(numbers, np.float32)).tolist()


def _example(value: Any) -> bytes:
    if type(value) is not dict:
        raise invalid(f"Example must be JSON object but got JSON {kind(value)}")
    example = Example()
    for name, content in value.items():
        feature = example.features.feature[name]
        for item in content if type(content) is list else [content]:
            _add(item, name, feature)
    return example.SerializeToString()


def _add(value: Any, name: str, feature: Feature) -> None:
    if value is None or type(value) is list or (type(value) is dict and not is_b64(value)):
        raise invalid(f"Feature: {name} has element with unexpected JSON type: {kind(value)}")
    if type(value) is str:
        _values(feature, "bytes", name).append(value.encode())
    elif type(value) is dict:
        _values(feature, "bytes", name).append(decode_b64(value))
    elif isinstance(value, float) or not _INT64.min <= value <= _UINT64.max:
        check_size(value)
        _values(feature, "float", name).append(float(value))
    elif value > _INT64.max:
        raise invalid(f"Feature: {name} has uint64_t element. Only int64_t is supported.")
    else:
        _values(feature, "int64", name).append(int(value))


def _values(feature: Feature, expected_kind: str, name: str) -> Any:
    """Return the value list of a feature, checking that the feature has no values of another kind."""
    present = feature.WhichOneof("kind")
    if present not in (None, f"{expected_kind}_list"):
        expected = present.removesuffix("_list")
        raise invalid(f"Unexpected element type in feature: {name} expecting type: {expected}")
    return getattr(feature, f"{expected_kind}_list").value
