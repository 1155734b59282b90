"""Batch normalization in the training step: the moments are those of the whole batch, however it is divided."""

import numpy as np
import pytest

from tfattn.training.loop import Counters
from tfattn.training.optimizers import Sgd


def state(task):
    return {variable.path: np.array(variable) for variable in task.weights}


@pytest.mark.parametrize("kind", ["Normalized", "NormalizedComparedRows"])
def test_micro_batches_equal_the_whole_batch(make, kind):
    # 53 rows in batches of 8: one has 5 rows, which are filled up to 8.
    found = []
    for accumulation in (1, 2, 4):
        task, loop, batches = make(kind=kind, accumulation=accumulation, optimizer=Sgd(learning_rate=0.1))
        taken = loop(batches(), Counters(), limit=7, stop=False)
        found.append({**state(task), "losses": taken.records["loss"], "norms": taken.records["gradient_norm"]})
    for other in found[1:]:
        for name, value in found[0].items():
            np.testing.assert_allclose(other[name], value, rtol=1e-5, atol=2e-5, err_msg=name)
