"""Windows that are cut elsewhere in each epoch."""

import tensorflow as tf

from tfattn.data.transforms import Batch, Transform, uniform
from tfattn.features import PADDING_MASK


class WindowShift(Transform):
    """Takes tokens that stand side by side from a random place of each record, with all that is told of each.

    Args:
        size: the most tokens that are taken; a record that has no more is taken whole.
    """

    def __init__(self, size: int):
        self._size = size

    def __call__(self, batch: Batch, seeds: tf.Tensor) -> dict[str, tf.Tensor]:
        mask = batch[PADDING_MASK]
        room = tf.maximum(tf.reduce_sum(tf.cast(mask, tf.int32), axis=1) - self._size, 0)
        first = tf.cast(uniform(seeds, 1)[:, 0] * tf.cast(room + 1, tf.float32), tf.int32)
        places = first[:, None] + tf.range(tf.minimum(self._size, tf.shape(mask)[1]))  # (B, size)
        return {
            name: tf.gather(values, places, batch_dims=1) if values.shape.rank == 2 else values
            for name, values in batch.items()
        }
