"""Images lit where a model looked: by hand for a model that looks at one place alone."""

import numpy as np
import pytest

from tfattn.evaluation.attention_overlay import MIN_BRIGHTNESS, attention_overlay
from tfattn.models.vit import Vit

SIZES = {"image_size": 8, "patch_size": 4, "hidden_dim": 8, "num_layers": 1, "num_heads": 2, "intermediate_dim": 16}


@pytest.mark.parametrize("pooling", ["class_token", "mean", "attention"])
def test_what_is_read_evenly_is_as_bright_as_ever(pooling):
    model = Vit(**SIZES, pooling=pooling)
    for variable in model.trainable_variables:
        if "qkv" in variable.path or "score" in variable.path:
            variable.assign(np.zeros(variable.shape))
    images = np.random.default_rng(1).random((2, 8, 8, 3)).astype("float32")
    np.testing.assert_allclose(attention_overlay(model, images), images, atol=1e-5)


def test_the_place_that_is_looked_at_is_the_brightest():
    model = Vit(**SIZES, pooling="attention", positions="none")
    for variable in model.trainable_variables:
        if "qkv" in variable.path:
            variable.assign(np.zeros(variable.shape))
        if "score" in variable.path:
            variable.assign(np.random.default_rng(5).normal(size=variable.shape) * 9)
    image = np.full((1, 8, 8, 3), 0.5, "float32")
    image[0, 4:, :4] = [0.9, 0.1, 0.7]  # one patch unlike the others
    lit = attention_overlay(model, image)[0] / image[0]
    patch, other = lit[5:7, 1:3].mean(), lit[1:3, 5:7].mean()
    fractions = np.array(model.pooled_fractions(model({"images": image})))[0]
    assert (patch > other) == (fractions[2] > fractions[1])
    assert lit.max() == pytest.approx(1, abs=1e-5) and lit.min() >= MIN_BRIGHTNESS - 1e-6
