"""Gradients of layers: those of their weights, joined."""

from types import SimpleNamespace

import numpy as np

from tfattn.training.gradient_norms import by_layer


def test_the_norm_of_a_layer_joins_those_of_its_weights():
    paths = [
        "bert/embeddings/token/embeddings",
        "bert/block_0/norm/gamma",
        "bert/block_0/norm/beta",
        "classifier/kernel",
    ]
    weights = [SimpleNamespace(path=path) for path in paths]
    found = by_layer(weights, np.array([0.5, 3.0, 4.0, 0.0], "float32"))
    assert found == {"gradient_norm/embeddings": 0.5, "gradient_norm/block_0": 5.0, "gradient_norm/classifier": 0.0}
