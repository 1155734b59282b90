"""Random numbers of SplitMix64: the same in every process, in NumPy and in TensorFlow.

NumPy gives the sort keys of records as they are written; TensorFlow gives the random numbers of records as they are
read. Prepared data and resumed runs depend on every bit.

Source: Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators", section 4.
"""

import numpy as np
import tensorflow as tf

GOLDEN = 0x9E3779B97F4A7C15  # added to the state for each number
MIX_STEPS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))  # shift and factor
LAST_SHIFT = 31


def row_keys(rows: np.ndarray, seed: int) -> np.ndarray:
    """Map row numbers to random sort keys.

    Args:
        rows: (n,) int, not negative.
        seed: not negative.

    Returns:
        (n,) uint64.
    """
    with np.errstate(over="ignore"):
        state = _mix(np.asarray(seed, np.uint64) + np.uint64(GOLDEN))
    return nth_keys(state, rows)


def nth_keys(keys: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Derive the random sort key of an example from the key of its row.

    Args:
        keys: (n,) uint64, keys of rows.
        numbers: (n,) int, the index of each example in its row.

    Returns:
        (n,) uint64.
    """
    with np.errstate(over="ignore"):
        return _mix(keys + (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(GOLDEN))


def uniform(seeds: tf.Tensor, count: tf.Tensor | int, *, draw: int = 0) -> tf.Tensor:
    """Sample numbers uniformly from [0, 1).

    The first numbers of a row are the same for any count.

    Args:
        seeds: (B, 2) int64.
        count: numbers per seed.
        draw: index of an independent stream, not negative.

    Returns:
        (B, count) float32.
    """
    return tf.cast(tf.bitwise.right_shift(_bits(seeds, count, draw), _uint64(40)), tf.float32) * 2.0**-24


def integers(seeds: tf.Tensor, count: tf.Tensor | int, *, below: int, draw: int = 0) -> tf.Tensor:
    """Sample integers uniformly from [0, below).

    Args:
        seeds: (B, 2) int64.
        count: numbers per seed.
        below: upper bound, at most 2^31.
        draw: index of an independent stream, not negative.

    Returns:
        (B, count) int32.
    """
    high = tf.bitwise.right_shift(_bits(seeds, count, draw), _uint64(32))
    return tf.cast(tf.bitwise.right_shift(high * _uint64(below), _uint64(32)), tf.int32)


def _mix(values: np.ndarray) -> np.ndarray:
    for shift, factor in MIX_STEPS:
        values = (values ^ (values >> np.uint64(shift))) * np.uint64(factor)
    return values ^ (values >> np.uint64(LAST_SHIFT))


def _mix_tensor(values: tf.Tensor) -> tf.Tensor:
    for shift, factor in MIX_STEPS:
        values = tf.bitwise.bitwise_xor(values, tf.bitwise.right_shift(values, _uint64(shift))) * _uint64(factor)
    return tf.bitwise.bitwise_xor(values, tf.bitwise.right_shift(values, _uint64(LAST_SHIFT)))


def _bits(seeds: tf.Tensor, count: tf.Tensor | int, draw: int) -> tf.Tensor:
    seeds = tf.bitcast(seeds, tf.uint64)
    streams = _mix_tensor(seeds[:, 0] + _uint64(GOLDEN * (draw + 1))) + _mix_tensor(seeds[:, 1])
    steps = tf.cast(tf.range(1, count + 1), tf.uint64) * _uint64(GOLDEN)
    return _mix_tensor(_mix_tensor(streams)[:, None] + steps)


def _uint64(value: int) -> tf.Tensor:
    return tf.constant(value % 2**64, tf.uint64)
