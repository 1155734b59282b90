"""Weights that are attached to a converted graph, and smoothing for 8 bits."""

import numpy as np
import pytest
import tensorflow as tf

from tfattn.litert.converter import convert
from tfattn.litert.model import LiteRtModel
from tfattn.litert.smoothing import factors
from tfattn.litert.weight_inputs import attach

UNITS, WIDTH, ROWS = 48, 64, 40


@pytest.fixture(scope="module")
def graph():
    """Two signatures: a product with a table, and with vectors of the table."""

    def product(x, table):
        return {"y": tf.matmul(x, table, transpose_b=True)}

    def looked_up(ids, table):
        return {"y": tf.matmul(tf.gather(table, ids), table, transpose_b=True)}

    table = tf.TensorSpec([UNITS, WIDTH], tf.float32, name="table")
    inputs = tf.TensorSpec([None, WIDTH], tf.float32, name="x"), tf.TensorSpec([None], tf.int32, name="ids")
    functions = {"product": (product, inputs[0]), "looked_up": (looked_up, inputs[1])}
    return convert(
        {
            name: tf.function(function, autograph=False).get_concrete_function(spec, table)
            for name, (function, spec) in functions.items()
        }
    )


@pytest.fixture
def run(graph, tmp_path):
    def compute(table, signature, inputs, **options):
        path = tmp_path / "model.tflite"
        path.write_bytes(attach(graph, {"table": table}, **options))
        return LiteRtModel(path).run(signature, inputs)["y"], path.stat().st_size

    return compute


def test_attached_weights_compute_the_same(run):
    table = np.random.default_rng(0).normal(size=(UNITS, WIDTH)).astype(np.float32)
    x, ids = np.random.default_rng(1).normal(size=(ROWS, WIDTH)).astype(np.float32), np.arange(5, dtype=np.int32)
    scales = {"table": np.linspace(0.1, 9, WIDTH, dtype=np.float32)}
    for options in ({}, {"scales": scales}):  # smoothing changes nothing in float32
        np.testing.assert_allclose(run(table, "product", {"x": x}, **options)[0], x @ table.T, atol=1e-4)
        expected = table[:5] @ table.T
        np.testing.assert_allclose(run(table, "looked_up", {"ids": ids}, **options)[0], expected, atol=1e-4)


def test_smoothing_makes_8_bits_more_exact_for_uneven_components(run):
    draw = np.random.default_rng(2)
    table = draw.normal(size=(UNITS, WIDTH)).astype(np.float32)
    x = draw.normal(size=(ROWS, WIDTH)).astype(np.float32)
    x[:, 7] *= 200
    exact = x @ table.T
    scales = {"table": factors(np.sqrt(np.square(x).mean(axis=0)), table)}
    plain, size = run(table, "product", {"x": x}, precision="int8")
    smoothed, _ = run(table, "product", {"x": x}, precision="int8", scales=scales)
    errors = [np.abs(found - exact).mean() for found in (plain, smoothed)]
    assert errors[1] < errors[0] / 3
    assert size < 4 * UNITS * WIDTH + 4000
