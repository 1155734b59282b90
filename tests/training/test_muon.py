"""Muon: orthogonal updates of linear maps, AdamW for all other weights."""

import numpy as np
import pytest
import tensorflow as tf

from tfattn.layers.feed_forward import FeedForward
from tfattn.layers.image_tokens import PatchTokens
from tfattn.layers.multi_head_attention import MultiHeadAttention
from tfattn.layers.pooling import Pooler
from tfattn.training.muon import Muon, orthogonalize
from tfattn.training.optimizers import AdamW

from .test_optimizers import steps


def draw(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("shape", [(3, 8, 8), (2, 6, 24), (2, 24, 6)])
def test_singular_values_come_near_to_one(shape):
    matrices = draw(*shape)
    ours = orthogonalize(tf.constant(matrices)).numpy()
    u, _, v = np.linalg.svd(matrices, full_matrices=False)
    found = np.linalg.svd(ours, compute_uv=False)
    assert found.min() > 0.6 and found.max() < 1.25
    # The same directions: what is left of U' X V beside its diagonal is the rounding of bfloat16.
    inside = np.swapaxes(u, 1, 2) @ ours @ np.swapaxes(v, 1, 2)
    assert np.abs(inside - np.einsum("nii->ni", inside)[:, :, None] * np.eye(inside.shape[-1])).max() < 0.1


def test_a_matrix_of_zeros_stays_zero():
    np.testing.assert_array_equal(orthogonalize(tf.zeros((1, 3, 4))).numpy(), np.zeros((1, 3, 4)))


def test_a_step_is_orthogonalized_momentum_with_the_scale_of_the_paper():
    weight, gradients = draw(6, 4), draw(2, 6, 4)
    rate, decay, momentum = 0.1, 0.5, 0.9
    optimizer = Muon(learning_rate=rate, weight_decay=decay, momentum=momentum)
    ours = steps(optimizer, weight, gradients, fractions=(1.0, 0.5), maps=[4])
    w, m = weight, np.zeros_like(weight)
    for gradient, fraction in zip(gradients, (1.0, 0.5), strict=True):
        m = momentum * m + (1 - momentum) * gradient
        ahead = momentum * m + (1 - momentum) * gradient
        update = 0.2 * 6**0.5 * orthogonalize(tf.constant(ahead[None])).numpy()[0]
        w = w * (1 - fraction * rate * decay) - fraction * rate * update
    np.testing.assert_allclose(ours, w, atol=1e-5)


def test_concatenated_maps_are_separate_matrices():
    weight, gradients = draw(4, 12), draw(2, 4, 12)
    together = steps(Muon(), weight, gradients, fractions=(1.0, 1.0), maps=[4, 8])
    for columns in (slice(0, 4), slice(4, 12)):
        alone = steps(
            Muon(),
            weight[:, columns],
            gradients[:, :, columns],
            fractions=(1.0, 1.0),
            maps=[columns.stop - columns.start],
        )
        np.testing.assert_allclose(together[:, columns], alone, atol=1e-6)


def test_other_weights_are_updated_by_adamw():
    table, gradients = draw(5, 3), draw(3, 5, 3)
    np.testing.assert_array_equal(
        steps(Muon(learning_rate=0.1), table, gradients), steps(AdamW(learning_rate=0.1), table, gradients)
    )


def test_matrices_keep_one_slot():
    optimizer = Muon()
    optimizer.build([tf.Variable(draw(4, 4)), tf.Variable(draw(4, 4))], [1.0, 1.0], [[4], []])
    assert [slot.shape.as_list() for slot in optimizer.slots["second_moment"]] == [[0], [4, 4]]


@pytest.mark.parametrize(
    "layer, shape, maps",
    [
        (MultiHeadAttention(num_heads=2), (None, None, 8), {"qkv/kernel": (8, 8, 8), "output/kernel": (8,)}),
        (
            FeedForward(intermediate_dim=6, activation="geglu"),
            (None, None, 8),
            {"intermediate/kernel": (6, 6), "output/kernel": (8,)},
        ),
        (Pooler(), (None, None, 8), {"dense/kernel": (8,)}),
        (PatchTokens(width=8, patch_size=2), (None, 4, 4, 3), {}),
    ],
    ids=["attention", "feed_forward", "pooler", "patches"],
)
def test_linear_maps_are_those_between_hidden_vectors(layer, shape, maps):
    layer.build(shape)
    found = {variable.path: getattr(variable, "maps", ()) for variable in layer.trainable_variables}
    assert {path.split("/", 1)[1]: own for path, own in found.items() if own} == maps
