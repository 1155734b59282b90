"""Random changes to batches as they are read: other ones in each epoch, the same ones on any machine.

What is drawn for a record follows from (seed, epoch, record) alone: not from the batch that it stands in, from how that
is divided, or from where a run began to read. So a run that is resumed, or has more replicas, sees the same.
"""

from collections.abc import Mapping

import numpy as np
import tensorflow as tf

from tfattn.preprocessing.preprocessor import Preprocessor

Batch = Mapping[str, tf.Tensor]

STREAM = 2**32 - 1  # tells these draws from those of the order of an epoch
# Of SplitMix64 (Steele et al. 2014, "Fast splittable pseudorandom number generators", section 4).
GOLDEN, FIRST, SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


class Transform:
    """The contract: a batch to a batch of the same rows, in TensorFlow's graph.

    Attributes:
        targets: the names that it adds to a batch for models to be taught.
        reads_partners: whether it reads each row together with another of its batch, drawn like the batch itself: it
            gets the B rows and behind them their B partners, which earlier transforms have changed as they change them
            in their own places, and returns the B rows. None comes after it.
    """

    targets: tuple[str, ...] = ()
    reads_partners: bool = False

    def in_epoch(self, *, seed: int, epoch: int) -> "Transform":
        """Return what is done in an epoch, where that is more than to draw by its seeds."""
        return self

    def __call__(self, batch: Batch, seeds: tf.Tensor) -> dict[str, tf.Tensor]:
        """Change a batch.

        Args:
            batch: what the reader gives, B rows.
            seeds: (B, 2) int64, of each row, from which all that is random is drawn: by `uniform`, or row by row by
                TensorFlow's stateless functions.
        """
        raise NotImplementedError


class FromRecords(Transform):
    """Features of what records hold, such as images of the bytes of files.

    Args:
        preprocessor: makes the features.
    """

    def __init__(self, preprocessor: Preprocessor):
        self.preprocessor = preprocessor

    def __call__(self, batch: Batch, seeds: tf.Tensor) -> dict[str, tf.Tensor]:
        return self.preprocessor.from_records(batch)


def seeds_of(records: tf.Tensor, *, seed: int, epoch: int) -> tf.Tensor:
    """Give the seeds of records in an epoch: (B,) int to (B, 2) int64."""
    (of_epoch,) = np.random.SeedSequence([seed, epoch, STREAM]).generate_state(1, np.uint64) >> np.uint64(1)
    return tf.stack([tf.fill(tf.shape(records), tf.constant(of_epoch, tf.int64)), tf.cast(records, tf.int64)], axis=1)


def uniform(seeds: tf.Tensor, count: tf.Tensor | int, *, draw: int = 0) -> tf.Tensor:
    """Draw numbers from 0 up to, but not, 1: (B, count) float32, a row for each seed.

    The first numbers of a row are the same for any count.

    Args:
        seeds: (B, 2) int64.
        count: of numbers for each seed.
        draw: which of several independent draws, not negative.
    """
    return tf.cast(tf.bitwise.right_shift(_bits(seeds, count, draw), _number(40)), tf.float32) * 2.0**-24


def integers(seeds: tf.Tensor, count: tf.Tensor | int, *, below: int, draw: int = 0) -> tf.Tensor:
    """Draw whole numbers from 0 up to, but not, `below`, at most 2^31: (B, count) int32; else as `uniform`."""
    high = tf.bitwise.right_shift(_bits(seeds, count, draw), _number(32))
    return tf.cast(tf.bitwise.right_shift(high * _number(below), _number(32)), tf.int32)


def _bits(seeds: tf.Tensor, count: tf.Tensor | int, draw: int) -> tf.Tensor:
    seeds = tf.bitcast(seeds, tf.uint64)
    streams = _mixed(seeds[:, 0] + _number(GOLDEN * (draw + 1))) + _mixed(seeds[:, 1])
    places = tf.cast(tf.range(1, count + 1), tf.uint64) * _number(GOLDEN)
    return _mixed(_mixed(streams)[:, None] + places)


def _mixed(state: tf.Tensor) -> tf.Tensor:
    for shift, factor in ((30, FIRST), (27, SECOND)):
        state = tf.bitwise.bitwise_xor(state, tf.bitwise.right_shift(state, _number(shift))) * _number(factor)
    return tf.bitwise.bitwise_xor(state, tf.bitwise.right_shift(state, _number(31)))


def _number(value: int) -> tf.Tensor:
    return tf.constant(value % 2**64, tf.uint64)
