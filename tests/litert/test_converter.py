"""Functions become LiteRT files, or the message names what LiteRT does not have."""

import numpy as np
import pytest
import tensorflow as tf

from tfattn.errors import ExportError
from tfattn.litert.converter import convert
from tfattn.litert.model import LiteRtModel


def test_outputs_are_those_of_the_functions(network, inputs, content, saved):
    model = LiteRtModel(saved(content))
    expected, received = network(**inputs), model.run("serving_default", inputs)
    assert set(expected) == set(received)
    for name in expected:
        np.testing.assert_allclose(received[name], expected[name], rtol=1e-5, atol=1e-4)


def test_signatures_share_weights(network, content):
    # The second signature and the tied table take no space.
    floats = sum(int(weight.shape.num_elements()) for weight in network.weights)
    assert len(content) < 4 * floats + 16_000


def test_unsupported_operations_are_named():
    spec = [tf.TensorSpec([None], tf.float32, name="x")]
    function = tf.function(lambda x: {"y": tf.math.lgamma(x) + tf.math.digamma(x)}, input_signature=spec)
    with pytest.raises(ExportError, match=r"LiteRT cannot compute the model: .* received .*Digamma.*`export.formats`"):
        convert({"f": function})


def test_weights_larger_than_a_file_are_refused():
    class Huge:
        shape, dtype = tf.TensorShape([1 << 20, 1 << 10]), tf.float32

    with pytest.raises(ExportError, match=r"too large .* expected up to 2 GiB, received 4.0 GiB"):
        convert({}, weights=[Huge()])
