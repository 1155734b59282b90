"""Variables by path: mismatches are refused."""

import numpy as np
import pytest
import tensorflow as tf

from tfattn.errors import CheckpointError
from tfattn.training.variables import assign


def test_mismatches_are_listed_and_nothing_is_assigned():
    variable = tf.Variable([[1.0, 2.0]])
    other = tf.Variable([5.0])
    with pytest.raises(CheckpointError) as caught:
        assign({"a": variable, "b": other}, {"a": np.zeros((1, 2)), "b": np.zeros((2,)), "c": np.zeros(1)}, where="x")
    assert "x: the checkpoint does not fit the model" in str(caught.value)
    assert "not in the model: c" in str(caught.value)
    assert "b (2,) for (1,)" in str(caught.value)
    np.testing.assert_array_equal(variable.numpy(), [[1.0, 2.0]])
    with pytest.raises(CheckpointError, match="missing: a"):
        assign({"a": variable}, {}, where="x")
