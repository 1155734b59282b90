"""Serialized examples have the same bytes as those of TensorFlow."""

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from tfattn.data import wire_format

integers = st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(0, 40_000), max_size=300)
floats = st.lists(st.floats(width=32, allow_nan=False), max_size=200)
texts = st.lists(st.binary(max_size=200), max_size=3)


def by_tensorflow(columns, place):
    features = {}
    for name, (dtype, lists) in columns.items():
        values = list(lists[place])
        features[name] = {
            "int64": lambda values=values: tf.train.Feature(int64_list=tf.train.Int64List(value=values)),
            "float32": lambda values=values: tf.train.Feature(float_list=tf.train.FloatList(value=values)),
            "bytes": lambda values=values: tf.train.Feature(bytes_list=tf.train.BytesList(value=values)),
        }[dtype]()
    example = tf.train.Example(features=tf.train.Features(feature=features))
    return example.SerializeToString(deterministic=True)


@given(st.lists(st.tuples(integers, floats, texts), min_size=1, max_size=3))
def test_bytes_are_those_of_tensorflow(rows):
    names = {"b": "int64", "é": "float32", "a" * 130: "bytes"}
    columns = {
        name: (dtype, column) for (name, dtype), column in zip(names.items(), zip(*rows, strict=True), strict=True)
    }
    assert wire_format.examples(columns) == [by_tensorflow(columns, place) for place in range(len(rows))]


@pytest.mark.parametrize("dtype", ["int32", "int64", "bool", "uint8"])
def test_arrays_are_encoded_like_lists(dtype):
    arrays = [np.array([0, 1, 1]).astype(dtype), np.zeros(0, dtype)]
    lists = [array.astype(int).tolist() for array in arrays]
    assert wire_format.examples({"a": ("int64", arrays)}) == wire_format.examples({"a": ("int64", lists)})


def test_an_example_without_features_is_empty():
    assert wire_format.examples({}) == []
