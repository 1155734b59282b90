"""Random changes to batches as they are read.

The random numbers of a record depend on (seed, epoch, record) alone, not on its batch, on the number of replicas or on
where a run started to read. A resumed run, or a run with more replicas, sees the same data.
"""

from collections.abc import Mapping

import numpy as np
import tensorflow as tf

from tfattn.data.splitmix64 import uniform
from tfattn.features import PADDING_MASK
from tfattn.preprocessing.preprocessor import Preprocessor

Batch = Mapping[str, tf.Tensor]

STREAM = 2**32 - 1  # separates these random numbers from the shuffle order of an epoch


class Transform:
    """The contract: map a batch to a batch of the same rows, in TensorFlow's graph.

    Attributes:
        targets: names of the targets that the transform adds to a batch.
        reads_partners: whether the transform reads each row together with a partner drawn from its batch. The
            transform then gets the B rows followed by their B partners, to which the earlier transforms have already
            been applied, and returns the B rows. No transform may follow it.
    """

    targets: tuple[str, ...] = ()
    reads_partners: bool = False

    def in_epoch(self, *, seed: int, epoch: tf.Tensor) -> "Transform":
        """Return the transform of an epoch, where it depends on more than the seeds of rows.

        Args:
            seed: the seed of the reader.
            epoch: () int64.
        """
        return self

    def __call__(self, batch: Batch, seeds: tf.Tensor) -> dict[str, tf.Tensor]:
        """Transform a batch.

        Args:
            batch: the features of B rows.
            seeds: (B, 2) int64, a seed per row, for `splitmix64.uniform` and `integers` or for TensorFlow's stateless
                functions.
        """
        raise NotImplementedError


class FromRecords(Transform):
    """Features computed from the contents of records, such as images decoded from the bytes of files.

    Args:
        preprocessor: computes the features.
    """

    def __init__(self, preprocessor: Preprocessor):
        self.preprocessor = preprocessor

    def __call__(self, batch: Batch, seeds: tf.Tensor) -> dict[str, tf.Tensor]:
        return self.preprocessor.from_records(batch)


class WindowShift(Transform):
    """A window of adjacent tokens at a random offset of each record, with all features of these tokens.

    Args:
        size: the maximum number of tokens of a window. Shorter records are kept whole.
    """

    def __init__(self, size: int):
        self._size = size

    def __call__(self, batch: Batch, seeds: tf.Tensor) -> dict[str, tf.Tensor]:
        mask = batch[PADDING_MASK]
        room = tf.maximum(tf.reduce_sum(tf.cast(mask, tf.int32), axis=1) - self._size, 0)
        first = tf.cast(uniform(seeds, 1)[:, 0] * tf.cast(room + 1, tf.float32), tf.int32)
        positions = first[:, None] + tf.range(tf.minimum(self._size, tf.shape(mask)[1]))  # (B, size)
        return {
            name: tf.gather(values, positions, batch_dims=1) if values.shape.rank == 2 else values
            for name, values in batch.items()
        }


def epoch_key(*, seed: int, epoch: int) -> np.int64:
    """Return the number from which the seeds of records in an epoch are made."""
    (key,) = np.random.SeedSequence([seed, epoch, STREAM]).generate_state(1, np.uint64) >> np.uint64(1)
    return key.astype(np.int64)


def seeds_of(records: tf.Tensor, key: tf.Tensor | np.int64) -> tf.Tensor:
    """Compute the seeds of records, (B, 2) int64, from their numbers (B,) int and the key of an epoch."""
    return tf.stack([tf.fill(tf.shape(records), tf.cast(key, tf.int64)), tf.cast(records, tf.int64)], axis=1)
