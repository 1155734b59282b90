"""Features of records, and their serialization as `tf.train.Example`.

Names in files are those of the original BERT tools (`input_ids`, `segment_ids`, `label_ids`), so the files are
interchangeable. Parsing returns the names that models read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain, takewhile
from typing import Any, Literal

import numpy as np

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

    def lists(self, name: str, values: Sequence[Any]) -> dict[str, wire_format.Lists]:
        """Flatten the values of examples: elements, and row lengths of each inner ragged axis."""
        found = {}
        for axis, size in enumerate(self.shape[1:], start=1):
            if size is None:
                found[row_lengths_name(name, axis)] = "int64", [[len(some) for some in value] for value in values]
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
    groups = [(names, mask_depth(features, names)) for names in by_mask(features).values()]
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


def by_mask(features: Mapping[str, Feature]) -> dict[str, list[str]]:
    """Group the names of sequences by mask, in alphabetical order of masks."""
    sequences = [(feature.mask, name) for name, feature in features.items() if feature.is_sequence and feature.mask]
    return {
        mask: [name for other, name in sequences if other == mask] for mask in sorted({mask for mask, _ in sequences})
    }


def mask_depth(features: Mapping[str, Feature], names: Sequence[str]) -> int:
    """Count the leading axes that are None in all named features, which their mask covers."""
    return min(sum(1 for _ in takewhile(lambda size: size is None, features[name].shape)) for name in names)


def _extents(values: Sequence[Any], depth: int) -> list[int]:
    """Measure the maximum size of values along their first `depth` axes."""
    most = max(map(len, values), default=0)
    return [most] if depth == 1 else [most, *_extents([part for value in values for part in value], depth - 1)]


def row_lengths_name(name: str, axis: int) -> str:
    """Return the name of the row lengths of an inner axis."""
    return f"{name}/row_lengths_{axis}"
