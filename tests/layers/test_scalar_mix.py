"""ScalarMix: a learned mean of layers."""

import keras
import numpy as np
import pytest

from tests.contracts.layer import check_layer
from tfattn.layers.scalar_mix import ScalarMix

DRAW = np.random.default_rng(0)
LAYERS = [DRAW.normal(size=(3, 5, 8)).astype("float32") for _ in range(3)]


class Mixed(ScalarMix):
    """With the layers one by one."""

    def call(self, *layers):
        return super().call(layers)


@pytest.mark.every_backend
@pytest.mark.parametrize("normalize", [False, True])
def test_contract(normalize, tmp_path):
    arguments = {"num_layers": 3, "normalize": normalize}
    check_layer(Mixed, arguments, *LAYERS, output_shape=(3, 5, 8), folder=tmp_path)


def test_the_mix_starts_as_the_mean_and_follows_its_weights():
    mix = ScalarMix(num_layers=3)
    np.testing.assert_allclose(mix(LAYERS), np.mean(LAYERS, axis=0), atol=1e-6)
    mix.scalars.assign(np.log([0.5, 0.25, 0.25]))
    mix.scale.assign([2.0])
    expected = 2 * (0.5 * LAYERS[0] + 0.25 * LAYERS[1] + 0.25 * LAYERS[2])
    np.testing.assert_allclose(mix(LAYERS), expected, atol=1e-6)


def test_normalized_layers_have_equal_scale():
    mix = ScalarMix(num_layers=2, normalize=True)
    small, large = LAYERS[0], 100.0 * LAYERS[1] + 7.0
    of_large = keras.ops.convert_to_numpy(mix([small, large]))
    np.testing.assert_allclose(of_large, keras.ops.convert_to_numpy(mix([small, LAYERS[1]])), atol=1e-4)
