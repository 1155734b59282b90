"""What a record holds: features, encoded as an example of TensorFlow and parsed a batch at a time.

The names in the files are those that BERT's own tools write (`input_ids`, `segment_ids`, `label_ids`): others can read
ours, and we can read theirs; parsing gives the names that models read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain, takewhile
from typing import Any, Literal

import numpy as np
import tensorflow as tf

from tfattn.data import wire_format
from tfattn.features import LABEL_IDS, PADDING_MASK, SEGMENT_IDS, TOKEN_IDS

INPUT_MASK = "input_mask"  # in files that others padded: 1 at real tokens
STORED_NAMES = {TOKEN_IDS: "input_ids"}  # what a model reads -> the name in our files, where they differ
MODEL_NAMES = {"input_ids": TOKEN_IDS, "input_word_ids": TOKEN_IDS, "input_type_ids": SEGMENT_IDS}


@dataclass(frozen=True)
class Feature:
    """What a record holds under one name.

    Args:
        dtype: "int64", "float32" or "bytes".
        shape: of one record's value; None where an axis is as long as the record says. A batch is padded with 0, or
            with empty bytes, to its longest.
        mask: where the first axis is None, the feature that says which of its elements are real; those that share a
            mask are equally long. It covers as many of the first axes as are None in all of them: of lists of tokens
            both. None where they say it themselves, such as by weights: they are no tokens, and their number plays no
            part in how batches are formed.
        role: whether models read it, or are taught it.

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
        """Whether records have different numbers of elements."""
        return bool(self.shape) and self.shape[0] is None

    def spec(self, name: str) -> Any:
        """Return how TensorFlow parses it."""
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
        """Flatten the value of each example: its elements, and how many there are along each ragged axis inside."""
        found = {}
        for axis, size in enumerate(self.shape[1:], start=1):
            if size is None:
                found[_row_lengths(name, axis)] = "int64", [[len(some) for some in value] for value in values]
            values = [list(chain.from_iterable(value)) for value in values]
        return {name: (self.dtype, values if self.shape else [[value] for value in values]), **found}


def serialized(examples: Sequence[Mapping[str, Any]], features: Mapping[str, Feature]) -> list[bytes]:
    """Encode examples, the values of each by the names of its features, as records."""
    columns: dict[str, wire_format.Lists] = {}
    for name, feature in features.items():
        columns |= feature.lists(name, [values[name] for values in examples])
    return wire_format.examples(columns)


def lengths_of(examples: Sequence[Mapping[str, Any]], features: Mapping[str, Feature]) -> np.ndarray:
    """Measure the k sequences of examples, in the order of the names of their masks: (n, k); 1 where there are none.

    Where there are lists of sequences, (n, k, a): how many sequences, and the longest of them; 1 for axes that are not
    there.
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
    """Tell whether each record has one class, by which batches can be balanced."""
    return LABEL_IDS in features and not features[LABEL_IDS].shape


def described(features: dict[str, Feature]) -> dict[str, dict[str, Any]]:
    """Return the features as a manifest holds them."""
    return {name: asdict(feature) for name, feature in features.items()}


def parse(
    serialized: tf.Tensor,
    features: dict[str, Feature],
    lengths: tf.Tensor | None = None,
    widths: tf.Tensor | None = None,
) -> dict[str, tf.Tensor]:
    """Parse a batch of records at once, in the graph.

    Files of other tools, in which every row is padded to one length (`max_seq_length` of google-research/bert) and
    which say so by an `input_mask`, are read too: name it among `features`.

    Args:
        serialized: (B,) strings.
        features: what a record holds, by the names in the file.
        lengths: (B, k) or (B, k, a), of the k sequences of each row, as `lengths_of` measures them; taken from the
            file's `input_mask` where not given.
        widths: (k,) or (k, a), to which they are padded; the longest of each where not given.

    Returns:
        Features under the names that models read: integers as int32, sequences (B, T), and the masks of sequences
        (B, T) bool; of lists of sequences (B, N, T).
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
    """Group the sequences that share a mask, by its name, in alphabetical order."""
    sequences = [(feature.mask, name) for name, feature in features.items() if feature.is_sequence and feature.mask]
    return {mask: [name for one, name in sequences if one == mask] for mask in sorted({mask for mask, _ in sequences})}


def _depth(features: Mapping[str, Feature], names: Sequence[str]) -> int:
    """Count the first axes that are None in all of some features: those that their mask covers."""
    return min(sum(1 for _ in takewhile(lambda size: size is None, features[name].shape)) for name in names)


def _extents(values: Sequence[Any], depth: int) -> list[int]:
    """Measure values together along so many of their first axes: the most elements of any of them along each."""
    most = max(map(len, values), default=0)
    return [most] if depth == 1 else [most, *_extents([part for value in values for part in value], depth - 1)]


def _of_size(value: tf.Tensor, sizes: Sequence[tf.Tensor]) -> tf.Tensor:
    """Cut or pad sequences along the axes behind the first: (B, T, ...) -> (B, sizes[0], ...)."""
    for axis, size in enumerate(sizes, start=1):
        value = value[(slice(None),) * axis + (slice(size),)]
    missing = [[0, size - tf.shape(value)[axis]] for axis, size in enumerate(sizes, start=1)]
    rest = [[0, 0]] * (value.shape.rank - 1 - len(missing))
    return tf.pad(value, [[0, 0], *missing, *rest], constant_values="" if value.dtype == tf.string else 0)


def _row_lengths(name: str, axis: int) -> str:
    """Return the name of the lengths of each part along an inner axis."""
    return f"{name}/row_lengths_{axis}"
