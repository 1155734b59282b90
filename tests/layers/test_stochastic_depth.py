"""StochasticDepth: rows left out whole, the mean kept."""

import keras
import numpy as np
import pytest

from tfattn.layers.stochastic_depth import StochasticDepth


@pytest.mark.every_backend
def test_rows_are_left_out_whole_and_the_mean_stays():
    keras.utils.set_random_seed(0)
    layer = StochasticDepth(0.25)
    answer = keras.ops.convert_to_numpy(layer(np.ones((2000, 3, 4), "float32"), training=True))
    rows = answer.reshape(2000, -1)
    assert (rows == rows[:, :1]).all()
    np.testing.assert_allclose(np.unique(rows), [0, 4 / 3], rtol=1e-6)
    assert abs(rows.mean() - 1) < 0.05


def test_its_random_state_has_a_stable_name():
    layer = StochasticDepth(0.25, name="layer")
    layer.build((None, 3, 4))
    assert [variable.path for variable in layer.variables] == ["layer/seed/seed_generator_state"]
