"""Parsing of records in batches, in the graph of the reader."""

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from tfattn.data.examples.encoding import (
    INPUT_MASK,
    MODEL_NAMES,
    Feature,
    by_mask,
    mask_depth,
    row_lengths_name,
)


def parse(
    serialized: tf.Tensor,
    features: dict[str, Feature],
    lengths: tf.Tensor | None = None,
    widths: tf.Tensor | None = None,
) -> dict[str, tf.Tensor]:
    """Parse a batch of records, in the graph.

    Padded files with an `input_mask`, such as those of google-research/bert, are supported: include `input_mask` in
    `features`.

    Args:
        serialized: (B,) strings.
        features: features of a record, by the names in the file.
        lengths: (B, k) or (B, k, a), the result of `lengths_of`; by default computed from `input_mask`.
        widths: (k,) or (k, a), padded sizes; by default the maximum of `lengths`.

    Returns:
        features by model names: integers as int32, sequences (B, T), lists of sequences (B, N, T), and bool masks of
        the same shape.
    """
    parsed = tf.io.parse_example(serialized, {name: _spec(feature, name) for name, feature in features.items()})
    mask = parsed.pop(INPUT_MASK, None)
    if lengths is None and mask is not None:
        lengths = tf.cast(tf.reduce_sum(mask, axis=1), tf.int32)[:, None]
    if lengths is not None:
        lengths = tf.convert_to_tensor(lengths)
        lengths = lengths[:, :, None] if lengths.shape.rank == 2 else lengths
        widths = tf.reduce_max(lengths, axis=0) if widths is None else widths
    batch = {}
    for name, value in parsed.items():
        value = value.to_tensor() if isinstance(value, tf.RaggedTensor) else value
        value = tf.cast(value, tf.int32) if features[name].dtype == "int64" else value
        batch[MODEL_NAMES.get(name, name)] = value
    for index, (mask_name, names) in enumerate(by_mask(features).items()):
        depth = mask_depth(features, names)
        sizes = tf.unstack(tf.reshape(widths[index], [-1])[:depth], depth)
        for name in (MODEL_NAMES.get(name, name) for name in names if name != INPUT_MASK):
            batch[name] = _of_size(batch[name], sizes)
        if depth == 1:
            batch[mask_name] = tf.sequence_mask(lengths[:, index, 0], *sizes)
        else:
            real = parsed[names[0]].row_lengths(axis=depth).to_tensor()
            batch[mask_name] = tf.sequence_mask(_of_size(real, sizes[:-1]), sizes[-1])
    return batch


def _spec(feature: Feature, name: str) -> Any:
    """Return the parsing configuration of TensorFlow."""
    dtype = tf.string if feature.dtype == "bytes" else tf.as_dtype(feature.dtype)
    if not feature.is_sequence:
        return tf.io.FixedLenFeature(feature.shape, dtype)
    if None not in feature.shape[1:]:
        return tf.io.FixedLenSequenceFeature(feature.shape[1:], dtype, allow_missing=True)
    inner = [
        tf.io.RaggedFeature.RowLengths(row_lengths_name(name, axis))
        if size is None
        else tf.io.RaggedFeature.UniformRowLength(size)
        for axis, size in enumerate(feature.shape[1:], start=1)
    ]
    return tf.io.RaggedFeature(dtype, value_key=name, partitions=inner)


def _of_size(value: tf.Tensor, sizes: Sequence[tf.Tensor]) -> tf.Tensor:
    """Cut or pad sequences along the axes after the first: (B, T, ...) -> (B, sizes[0], ...)."""
    for axis, size in enumerate(sizes, start=1):
        value = value[(slice(None),) * axis + (slice(size),)]
    missing = [[0, size - tf.shape(value)[axis]] for axis, size in enumerate(sizes, start=1)]
    rest = [[0, 0]] * (value.shape.rank - 1 - len(missing))
    return tf.pad(value, [[0, 0], *missing, *rest], constant_values="" if value.dtype == tf.string else 0)
