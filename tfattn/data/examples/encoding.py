"""Features of records: serialization as `tf.train.Example` and parsing in batches.

Names in files are those of the original BERT tools (`input_ids`, `segment_ids`, `label_ids`), so the files are
interchangeable. Parsing returns the names that models read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain, takewhile
from typing import Any, Literal

import numpy as np
import tensorflow as tf

from tfattn.data import wire_format
from tfattn.features import LABEL_IDS, PADDING_MASK, SEGMENT_IDS, TOKEN_IDS

INPUT_MASK = "input_mask"  # in padded files of other tools: 1 at real tokens
STORED_NAMES = {TOKEN_IDS: "input_ids"}  # model name -> name in files, where they differ
MODEL_NAMES = {"input_ids": TOKEN_IDS, "input_word_ids": TOKEN_IDS, "input_type_ids": SEGMENT_IDS}


@dataclass(frozen=True)
class Feature:
    """A feature of a record.

    Args:
        dtype: "int64", "float32" or "bytes".
        shape: the shape of one value; None marks an axis of variable size. A batch is padded to its longest value, with
            0 or with empty bytes.
        mask: name of the mask of a variable first axis. Features with the same mask have the same length. The mask
            covers the leading axes that are variable in all of its features: two for lists of token sequences. None for
            features that mark padding themselves, such as by weights; their length does not affect batching.
        role: "input" for features that models read, "target" for training targets.

    Example:
        Feature("int64", (None,))  # token ids
        Feature("int64", (None, None), mask="character_mask")  # the characters of each word
        Feature("float32", (14,), role="target")  # always 14 numbers
    """

    dtype: Literal["int64", "float32", "bytes"]
    shape: tuple[int | None, ...] = ()
    mask: str | None = PADDING_MASK
    role: Literal["input", "target"] = "input"

    @property
    def is_sequence(self) -> bool:
        """Whether the number of elements varies between records."""
        return bool(self.shape) and self.shape[0] is None

    def spec(self, name: str) -> Any:
        """Return the parsing configuration of TensorFlow."""
        dtype = tf.string if self.dtype == "bytes" else tf.as_dtype(self.dtype)
        if not self.is_sequence:
            return tf.io.FixedLenFeature(self.shape, dtype)
        if None not in self.shape[1:]:
            return tf.io.FixedLenSequenceFeature(self.shape[1:], dtype, allow_missing=True)
        inner = [
            tf.io.RaggedFeature.RowLengths(_row_lengths(name, axis))
            if size is None
            else tf.io.RaggedFeature.UniformRowLength(size)
            for axis, size in enumerate(self.shape[1:], start=1)
        ]
        return tf.io.RaggedFeature(dtype, value_key=name, partitions=inner)

    def lists(self, name: str, values: Sequence[Any]) -> dict[str, wire_format.Lists]:
        """Flatten the values of examples: elements, and row lengths of each inner ragged axis."""
        found = {}
        for axis, size in enumerate(self.shape[1:], start=1):
            if size is None:
                found[_row_lengths(name, axis)] = "int64", [[len(some) for some in value] for value in values]
            values = [list(chain.from_iterable(value)) for value in values]
        return {name: (self.dtype, values if self.shape else [[value] for value in values]), **found}


def serialized(examples: Sequence[Mapping[str, Any]], features: Mapping[str, Feature]) -> list[bytes]:
    """Serialize examples, whose values are keyed by the names of features."""
    columns: dict[str, wire_format.Lists] = {}
    for name, feature in features.items():
        columns |= feature.lists(name, [values[name] for values in examples])
    return wire_format.examples(columns)


def lengths_of(examples: Sequence[Mapping[str, Any]], features: Mapping[str, Feature]) -> np.ndarray:
    """Measure the lengths of the k sequences of n examples, in alphabetical order of their masks.

    Returns:
        (n, k) int32; (n, 1) ones without sequences. With lists of sequences (n, k, a): the number of sequences and the
        length of the longest; 1 for missing axes.
    """
    groups = [(names, _depth(features, names)) for names in by_mask(features).values()]
    most = max([depth for _, depth in groups], default=1)
    lengths = [
        [_extents([values[name] for name in names], depth) + [1] * (most - depth) for names, depth in groups] or [[1]]
        for values in examples
    ]
    measured = np.array(lengths, np.int32).reshape(len(examples), max(len(groups), 1), most)
    return measured[:, :, 0] if most == 1 else measured


def have_classes(features: Mapping[str, Feature]) -> bool:
    """Return whether each record has one class, so that batches can be balanced."""
    return LABEL_IDS in features and not features[LABEL_IDS].shape


def described(features: dict[str, Feature]) -> dict[str, dict[str, Any]]:
    """Return the features in the form of the manifest."""
    return {name: asdict(feature) for name, feature in features.items()}


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
    parsed = tf.io.parse_example(serialized, {name: feature.spec(name) for name, feature in features.items()})
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
        depth = _depth(features, names)
        sizes = tf.unstack(tf.reshape(widths[index], [-1])[:depth], depth)
        for name in (MODEL_NAMES.get(name, name) for name in names if name != INPUT_MASK):
            batch[name] = _of_size(batch[name], sizes)
        if depth == 1:
            batch[mask_name] = tf.sequence_mask(lengths[:, index, 0], *sizes)
        else:
            real = parsed[names[0]].row_lengths(axis=depth).to_tensor()
            batch[mask_name] = tf.sequence_mask(_of_size(real, sizes[:-1]), sizes[-1])
    return batch


def by_mask(features: Mapping[str, Feature]) -> dict[str, list[str]]:
    """Group the names of sequences by mask, in alphabetical order of masks."""
    sequences = [(feature.mask, name) for name, feature in features.items() if feature.is_sequence and feature.mask]
    return {
        mask: [name for other, name in sequences if other == mask] for mask in sorted({mask for mask, _ in sequences})
    }


def _depth(features: Mapping[str, Feature], names: Sequence[str]) -> int:
    """Count the leading axes that are None in all named features, which their mask covers."""
    return min(sum(1 for _ in takewhile(lambda size: size is None, features[name].shape)) for name in names)


def _extents(values: Sequence[Any], depth: int) -> list[int]:
    """Measure the maximum size of values along their first `depth` axes."""
    most = max(map(len, values), default=0)
    return [most] if depth == 1 else [most, *_extents([part for value in values for part in value], depth - 1)]


def _of_size(value: tf.Tensor, sizes: Sequence[tf.Tensor]) -> tf.Tensor:
    """Cut or pad sequences along the axes after the first: (B, T, ...) -> (B, sizes[0], ...)."""
    for axis, size in enumerate(sizes, start=1):
        value = value[(slice(None),) * axis + (slice(size),)]
    missing = [[0, size - tf.shape(value)[axis]] for axis, size in enumerate(sizes, start=1)]
    rest = [[0, 0]] * (value.shape.rank - 1 - len(missing))
    return tf.pad(value, [[0, 0], *missing, *rest], constant_values="" if value.dtype == tf.string else 0)


def _row_lengths(name: str, axis: int) -> str:
    """Return the name of the row lengths of an inner axis."""
    return f"{name}/row_lengths_{axis}"
