"""The stack of encoder blocks: an injected layer may add a bias to the scores of attention."""

import keras
import numpy as np
from keras import ops

from tfattn.models.encoder_stack import EncoderStack

SLOPES = np.array([1.0, 0.25], "float32")


class LinearDistances(keras.layers.Layer):
    """The bias of ALiBi, for both directions (Press et al. 2022)."""

    def build(self, input_shape):
        self.slopes = self.add_weight(name="slopes", shape=(2, 1, 1), initializer="zeros")
        self.slopes.assign(SLOPES[:, None, None])

    def call(self, x):
        positions = ops.arange(ops.shape(x)[1])
        return -self.slopes * ops.cast(ops.abs(positions[:, None] - positions), self.slopes.dtype)


class Alibi(EncoderStack):
    """An encoder whose only positions are the distances of ALiBi."""

    def __init__(self):
        super().__init__(
            name="alibi",
            hidden_dim=8,
            num_layers=2,
            num_heads=2,
            max_sequence_length=16,
            norm="post",
            normalization="layer_norm",
            dropout=0.0,
            layer_norm_epsilon=1e-6,
            initializer_range=0.02,
            embeddings={"vocabulary_size": 11, "num_segments": 0, "positions": "relative"},
            blocks={"intermediate_dim": 16, "rotary_base": None},
            position_bias=LinearDistances(name="position_bias"),
        )


def test_a_position_bias_is_added_to_the_scores_of_all_blocks():
    model = Alibi()
    # Equal tokens have equal scores, so that only the bias distinguishes their positions.
    attention = model.attention({"token_ids": np.full((2, 5), 3)})["encoder"]
    distances = np.abs(np.arange(5)[:, None] - np.arange(5))
    expected = ops.softmax(-SLOPES[:, None, None] * distances)
    assert attention.weights.shape == (2, 2, 2, 5, 5)
    np.testing.assert_allclose(attention.weights, np.broadcast_to(expected, (2, 2, 2, 5, 5)), atol=1e-5)
    assert attention.queries is None and attention.keys is None
    assert not model.has_vectors


def test_the_weights_of_a_position_bias_are_trained():
    model = Alibi()
    paths = [variable.path for variable in model.depth_groups()[0]]
    assert "alibi/position_bias/slopes" in paths and "alibi/embeddings/token/embeddings" in paths
