"""Gradients: sparse rows give the same sums as dense tables; norms by layer."""

from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf

from tfattn.training.gradients import accumulate, all_reduce, densify, norms_by_layer, scale, sum_of_squares

PARTS = [([0, 2, 2], [1.0, 2.0, 4.0]), ([3], [8.0]), ([2, 0], [16.0, 32.0])]  # rows and their values
SUM = np.array([[33.0], [0.0], [22.0], [8.0]])


def rows(indices, values):
    return tf.IndexedSlices(tf.constant(values)[:, None], tf.constant(indices), tf.constant([4, 1]))


@pytest.mark.parametrize("gather_rows", [True, False])
def test_rows_of_all_parts_are_merged_and_summed(gather_rows):
    ragged_rows, ragged_values = (tf.ragged.constant(side) for side in zip(*PARTS, strict=True))

    def of_all():
        def part(index):
            slices = tf.IndexedSlices(ragged_values[index][:, None], ragged_rows[index], tf.constant([4, 1]))
            return [slices, tf.constant([1.0]), None], tf.ones(2)

        gradients, losses = accumulate(part, len(PARTS))
        replica = tf.distribute.get_replica_context()
        (table, full, nothing), losses = all_reduce(gradients, losses, replica, gather_rows=gather_rows)
        assert nothing is None
        return table.indices, table.values, full, losses, sum_of_squares(table), sum_of_squares(full)

    indices, values, dense, losses, of_table, of_dense = tf.function(of_all, autograph=False)()
    assert len(set(indices.numpy().tolist())) == len(indices) == 3
    found = np.zeros_like(SUM)
    found[indices] = values
    np.testing.assert_array_equal(found, SUM)
    assert dense.numpy() == 3 and losses.numpy().tolist() == [3, 3]
    assert float(of_table) == np.sum(SUM**2) and float(of_dense) == 9


def test_scaling_rows_equals_scaling_the_table():
    table = rows(*PARTS[0])
    np.testing.assert_array_equal(tf.convert_to_tensor(scale(table, 0.5)), 0.5 * tf.convert_to_tensor(table))
    assert float(scale(tf.constant(3.0), tf.constant(2.0))) == 6
    assert scale(None, tf.constant(2.0)) is None


def test_densify_keeps_only_rows_of_tables():
    cube = tf.IndexedSlices(tf.ones((1, 2, 2)), tf.constant([1]), tf.constant([3, 2, 2]))
    kept = densify([rows(*PARTS[0]), cube, None], sparse_tables=True)
    assert isinstance(kept[0], tf.IndexedSlices) and kept[1].shape == (3, 2, 2) and kept[2] is None
    assert densify([rows(*PARTS[0])])[0].numpy().ravel().tolist() == [1, 0, 6, 0]


def test_the_norm_of_a_layer_joins_the_norms_of_its_weights():
    paths = [
        "bert/embeddings/token/embeddings",
        "bert/block_0/norm/gamma",
        "bert/block_0/norm/beta",
        "classifier/kernel",
    ]
    weights = [SimpleNamespace(path=path) for path in paths]
    found = norms_by_layer(weights, np.array([0.5, 3.0, 4.0, 0.0], "float32"))
    assert found == {"gradient_norm/embeddings": 0.5, "gradient_norm/block_0": 5.0, "gradient_norm/classifier": 0.0}
