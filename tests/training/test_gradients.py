"""Gradients: rows that were looked up stand for the whole table."""

import numpy as np
import pytest
import tensorflow as tf

from tfattn.training.gradients import accumulated, scaled, squares, summed, whole

PARTS = [([0, 2, 2], [1.0, 2.0, 4.0]), ([3], [8.0]), ([2, 0], [16.0, 32.0])]  # rows and their numbers
SUM = np.array([[33.0], [0.0], [22.0], [8.0]])


def rows(indices, values):
    return tf.IndexedSlices(tf.constant(values)[:, None], tf.constant(indices), tf.constant([4, 1]))


@pytest.mark.parametrize("gathers", [True, False])
def test_rows_of_all_parts_stand_once_with_their_sum(gathers):
    ragged_rows, ragged_values = (tf.ragged.constant(side) for side in zip(*PARTS, strict=True))

    def of_all():
        def part(index):
            slices = tf.IndexedSlices(ragged_values[index][:, None], ragged_rows[index], tf.constant([4, 1]))
            return [slices, tf.constant([1.0]), None], tf.ones(2)

        gradients, losses = accumulated(part, len(PARTS))
        (table, full, nothing), losses = summed(gradients, losses, tf.distribute.get_replica_context(), gathers=gathers)
        assert nothing is None
        return table.indices, table.values, full, losses, squares(table), squares(full)

    indices, values, whole, losses, of_table, of_whole = tf.function(of_all, autograph=False)()
    assert len(set(indices.numpy().tolist())) == len(indices) == 3
    found = np.zeros_like(SUM)
    found[indices] = values
    np.testing.assert_array_equal(found, SUM)
    assert whole.numpy() == 3 and losses.numpy().tolist() == [3, 3]
    assert float(of_table) == np.sum(SUM**2) and float(of_whole) == 9


def test_rows_are_multiplied_as_tensors_are():
    table = rows(*PARTS[0])
    np.testing.assert_array_equal(tf.convert_to_tensor(scaled(table, 0.5)), 0.5 * tf.convert_to_tensor(table))
    assert float(scaled(tf.constant(3.0), tf.constant(2.0))) == 6
    assert scaled(None, tf.constant(2.0)) is None


def test_only_tables_may_stay_rows():
    cube = tf.IndexedSlices(tf.ones((1, 2, 2)), tf.constant([1]), tf.constant([3, 2, 2]))
    kept = whole([rows(*PARTS[0]), cube, None], but_tables=True)
    assert isinstance(kept[0], tf.IndexedSlices) and kept[1].shape == (3, 2, 2) and kept[2] is None
    assert whole([rows(*PARTS[0])])[0].numpy().ravel().tolist() == [1, 0, 6, 0]
