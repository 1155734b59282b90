"""Operations on the rows of a batch."""

import numpy as np
import pytest
from keras import ops

from tfattn.decoding.rows import largest, logsumexp, reorder_rows

DRAW = np.random.default_rng(0)


@pytest.mark.parametrize("suppressed_ids", [(), (0, 1, 2), (0, 40, 80, 120, 199, 4)])
@pytest.mark.parametrize("width", [200, 511, 512, 1000, 1024])
def test_top_k_equals_sorting(width, suppressed_ids):
    x = DRAW.normal(size=(7, width)).astype("float32")
    x[:, [0, 40, 80]] += 10.0
    values, ids = (ops.convert_to_numpy(part) for part in largest(x, 9, suppressed_ids=suppressed_ids))
    x[:, list(suppressed_ids)] = -np.inf
    np.testing.assert_array_equal(ids, np.argsort(-x, axis=-1)[:, :9])
    np.testing.assert_array_equal(values, np.take_along_axis(x, ids, axis=-1))


@pytest.mark.parametrize("width", [3, 1000])
def test_ties_prefer_the_first(width):
    x = np.zeros((2, width), "float32")
    assert ops.convert_to_numpy(largest(x, 1)[1]).tolist() == [[0], [0]]
    x[1, -2:] = 1.0
    assert ops.convert_to_numpy(largest(x, 1)[1]).tolist() == [[0], [width - 2]]


def test_top_k_is_limited_by_the_number_of_values():
    values, ids = largest(np.array([[1.0, 3.0, 2.0]], "float32"), 8, suppressed_ids=(1,))
    assert ops.convert_to_numpy(ids).tolist() == [[2, 0, 1]]
    assert ops.convert_to_numpy(values).tolist() == [[2.0, 1.0, -np.inf]]


def test_beams_take_the_state_of_their_parents():
    state = {"a": np.arange(6.0), "b": (np.arange(12).reshape(6, 2),)}
    moved = reorder_rows(state, np.array([[2, 0, 0], [1, 1, 2]], "int32"))
    assert ops.convert_to_numpy(moved["a"]).tolist() == [2, 0, 0, 4, 4, 5]
    assert ops.convert_to_numpy(moved["b"][0])[:, 0].tolist() == [4, 0, 0, 8, 8, 10]


def test_the_log_sum_includes_all_exponentials():
    logits = DRAW.normal(scale=30.0, size=(4, 50)).astype("float32")
    for token_ids in (np.argmax(logits, axis=-1), np.argsort(logits, axis=-1)[:, -2]):
        total = ops.convert_to_numpy(logsumexp(ops.convert_to_tensor(logits), token_ids[:, None].astype("int32")))
        np.testing.assert_allclose(total[:, 0], np.logaddexp.reduce(logits.astype("float64"), axis=-1), rtol=1e-6)


def test_an_impossible_token_leaves_the_total_finite():
    logits = ops.convert_to_tensor([[0.0, 200.0]])
    assert np.isfinite(ops.convert_to_numpy(logsumexp(logits, np.array([[0]], "int32")))).all()
