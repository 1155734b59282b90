"""Rows as TFRecord files: written in shards, checked when opened, parsed a batch at a time.

The names in the files are those that BERT's own tools write (`input_ids`, `segment_ids`, `label_ids`): others can read
ours, and we can read theirs; parsing gives the names that models read. Beside each shard `x.tfrecord` stands
`x.lengths.npy`, the tokens of each sequence of each of its records, `x.rows.npy`, the source row of each, and where
they have labels `x.label_ids.npy`: batches are planned without reading the records.
"""

import contextlib
import errno
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal, NotRequired

import numpy as np
import tensorflow as tf
from typing_extensions import TypedDict

from tfattn import files
from tfattn.errors import DataError
from tfattn.features import ENCODED, LABEL_IDS, PADDING_MASK, SEGMENT_IDS, TOKEN_IDS

INPUT_MASK = "input_mask"  # in files that others padded: 1 at real tokens
STORED_NAMES = {TOKEN_IDS: "input_ids"}  # what a model reads -> the name in our files, where they differ
MODEL_NAMES = {"input_ids": TOKEN_IDS, "input_word_ids": TOKEN_IDS, "input_type_ids": SEGMENT_IDS}
ROWS_PER_SHARD = 8192
PREPARE_AGAIN = "Prepare the data again: `tfattn prepare PIPELINE --force`."


@dataclass(frozen=True)
class Feature:
    """What a record holds under one name.

    Args:
        dtype: "int64", "float32" or "bytes".
        shape: of one record's value; None where an axis is as long as the record says. A batch is padded with 0, or
            with empty bytes, to its longest.
        mask: where the first axis is None, the feature that says which of its elements are real; those that share a
            mask are equally long.
        role: whether models read it, or are taught it.

    Example:
        Feature("int64", (None,))  # token ids
        Feature("int64", (None, None), mask="word_mask")  # the characters of each word
        Feature("float32", (14,), role="target")  # always 14 numbers
    """

    dtype: Literal["int64", "float32", "bytes"]
    shape: tuple[int | None, ...] = ()
    mask: str = PADDING_MASK
    role: Literal["input", "target"] = "input"

    @property
    def is_sequence(self) -> bool:
        """Whether records have different numbers of elements."""
        return bool(self.shape) and self.shape[0] is None

    def spec(self, name: str) -> Any:
        """How TensorFlow parses it."""
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

    def encode(self, name: str, value: Any) -> dict[str, tf.train.Feature]:
        """One value as the protocol buffer's: its elements, and how many there are along each ragged axis but one."""
        encoded = {}
        elements = [value]
        for axis, size in enumerate(self.shape):
            if axis and size is None:
                encoded[_row_lengths(name, axis)] = _feature("int64", [len(some) for some in elements])
            elements = list(chain.from_iterable(elements))
        return {name: _feature(self.dtype, elements), **encoded}


def serialized(values: Mapping[str, Any], features: Mapping[str, Feature]) -> bytes:
    """A record: the values of an example by the names of its features."""
    encoded = {}
    for name, feature in features.items():
        encoded |= feature.encode(name, values[name])
    example = tf.train.Example(features=tf.train.Features(feature=encoded))
    return example.SerializeToString(deterministic=True)


def lengths_of(values: Mapping[str, Any], features: Mapping[str, Feature]) -> list[int]:
    """How long the k sequences of an example are, in the order of the names of their masks; 1 where there are none."""
    return [max(len(values[name]) for name in names) for names in _by_mask(features).values()] or [1]


def shard_name(split: str, number: int, total: int) -> str:
    """The name of a shard, which says how many belong together."""
    return f"{split}-{number:05d}-of-{total:05d}.tfrecord"


def write_shard(
    path: Path,
    records: Iterable[bytes],
    *,
    lengths: np.ndarray,
    rows: np.ndarray | None = None,
    label_ids: np.ndarray | None = None,
) -> None:
    """Writes a shard, and what is known of each of its records beside it.

    Args:
        path: of the shard, in an existing folder.
        records: n serialized examples.
        lengths: (n, k), see `lengths_of`.
        rows: (n,), the number of the source row of each, among those of its split; that of the record by default.
        label_ids: (n,), the class of each, where they have one.
    """
    with _disk_errors(path), tf.io.TFRecordWriter(str(path)) as writer:
        for record in records:
            writer.write(record)
    np.save(path.with_suffix(".lengths.npy"), np.asarray(lengths, np.int32))
    np.save(path.with_suffix(".rows.npy"), np.arange(len(lengths)) if rows is None else np.asarray(rows, np.int64))
    if label_ids is not None:
        np.save(path.with_suffix(".label_ids.npy"), np.asarray(label_ids, np.int32))


def write_records(
    folder: Path,
    split: str,
    examples: Iterable[dict[str, Any]],
    *,
    features: dict[str, Feature],
    num_rows: int,
    rows_per_shard: int = ROWS_PER_SHARD,
) -> dict[str, int]:
    """Writes the shards of one split, an example for each row, into an existing folder (that of an `atomic_folder`).

    Args:
        folder: where to.
        split: "train", "validation" or "test".
        examples: for each row, a number or a list of numbers for each name of `features`.
        features: what each record holds, by the names in the file.
        num_rows: how many examples there are; the shards' names say how many of them belong together.
        rows_per_shard: records per file.

    Returns:
        What `Records` wants to find in the manifest under `splits`: rows and shards.
    """
    total = -(-num_rows // rows_per_shard)
    examples = iter(examples)
    written = 0
    for number in range(total):
        some = list(islice(examples, rows_per_shard))
        write_shard(
            Path(folder) / shard_name(split, number, total),
            (serialized(values, features) for values in some),
            lengths=np.array([lengths_of(values, features) for values in some]),
            rows=np.arange(written, written + len(some)),
            label_ids=np.array([values[LABEL_IDS] for values in some]) if LABEL_IDS in features else None,
        )
        written += len(some)
    assert written == num_rows and next(examples, None) is None, f"other than the announced {num_rows} rows came"
    return {"rows": num_rows, "shards": total}


def write_encoded(folder: str | Path, splits: dict[str, dict[str, np.ndarray]], *, targets: dict[str, Feature]) -> None:
    """Writes what a frozen encoder answered, once, as records that the same Reader reads in place of tokens.

    Args:
        folder: written as a whole or not at all.
        splits: for each split, `encoded` (N, D) float32 and the targets, (N, ...) each, in the order of the original
            records.
        targets: what the original records hold of them.
    """
    counts: dict[str, dict[str, int]] = {}
    size = next(iter(splits.values()))[ENCODED].shape[1]
    features = {ENCODED: Feature("float32", (size,)), **targets}
    # The manifest is written when the block ends, with the counts that have come by then.
    with files.atomic_folder(folder, features=described(features), splits=counts) as new:
        for split, columns in splits.items():
            rows = zip(*(columns[name] for name in features), strict=True)
            examples = (dict(zip(features, (value.tolist() for value in row), strict=True)) for row in rows)
            counts[split] = write_records(new, split, examples, features=features, num_rows=len(columns[ENCODED]))


class StoredSplit(TypedDict):
    """How many rows a split has, in how many shards."""

    rows: int
    shards: int


class Stored(files.Manifest):
    """What the manifest of a folder of records says beside its files.

    Attributes:
        splits: by name.
        features: what a record holds, by the names in the file.
        target_fields: the raw fields that are to be written, where there are any.
    """

    splits: dict[str, StoredSplit]
    features: dict[str, Feature]
    target_fields: NotRequired[list[str]]


def described(features: dict[str, Feature]) -> dict[str, dict[str, Any]]:
    """The features as a manifest holds them."""
    return {name: asdict(feature) for name, feature in features.items()}


class Records:
    """One split of a folder of records, held against its manifest when opened.

    Args:
        folder: what `prepare` or `write_encoded` wrote.
        split: "train", "validation" or "test".

    Attributes:
        paths: the shards, in order.
        lengths: for each shard (n, k), the tokens of the k sequences of each of its n records (1 where there are none).
        rows: for each shard (n,), the source row of each of its records, numbered through its split.
        label_ids: for each shard, the label of each of its records; None where they have none.
        features: what a record holds, by the names in the file.
        inputs, targets: the names that models read, and those that they are taught, of a parsed batch.
        masks: the names of masks of a parsed batch, in the order of the columns of `lengths`.
        manifest: everything that was written down about the folder.

    Raises:
        DataError: there is no such split, or a file is missing or damaged; names the file and the damaged byte.
    """

    def __init__(self, folder: str | Path, split: str):
        folder = Path(folder)
        self.manifest = _verified(folder, split)
        if split not in self.manifest["splits"]:
            raise DataError(
                f"there are no {split} rows",
                where=str(folder),
                expected=f"one of {', '.join(self.manifest['splits'])}",
                remedy=f"Give `data.split.{split}` a fraction above 0 and prepare again.",
            )
        shards = self.manifest["splits"][split]["shards"]
        self.paths = [folder / f"{split}-{shard:05d}-of-{shards:05d}.tfrecord" for shard in range(shards)]
        self.lengths, self.rows = self._beside(".lengths.npy"), self._beside(".rows.npy")
        self.features = self.manifest["features"]
        self.inputs, self.targets = (self._of_role(role) for role in ("input", "target"))
        self.masks = tuple(_by_mask(self.features))
        self.label_ids = self._beside(".label_ids.npy") if LABEL_IDS in self.features else None

    def _of_role(self, role: str) -> tuple[str, ...]:
        chosen = {name: feature for name, feature in self.features.items() if feature.role == role}
        return (*(MODEL_NAMES.get(name, name) for name in chosen), *_by_mask(chosen))

    def _beside(self, suffix: str) -> list[np.ndarray]:
        return [np.load(path.with_suffix(suffix), allow_pickle=False) for path in self.paths]


def parse(
    serialized: tf.Tensor,
    features: dict[str, Feature],
    lengths: tf.Tensor | None = None,
    widths: tf.Tensor | None = None,
) -> dict[str, tf.Tensor]:
    """Parses a batch of records at once, in the graph.

    Files of other tools, in which every row is padded to one length (`max_seq_length` of google-research/bert) and
    which say so by an `input_mask`, are read too: name it among `features`.

    Args:
        serialized: (B,) strings.
        features: what a record holds, by the names in the file.
        lengths: (B, k) tokens of the k sequences of each row; taken from the file's `input_mask` where not given.
        widths: (k,), to which they are padded; the longest of each where not given.

    Returns:
        Features under the names that models read: integers as int32, sequences (B, T), and the masks of sequences
        (B, T) bool.
    """
    parsed = tf.io.parse_example(serialized, {name: feature.spec(name) for name, feature in features.items()})
    mask = parsed.pop(INPUT_MASK, None)
    if lengths is None and mask is not None:
        lengths = tf.cast(tf.reduce_sum(mask, axis=1), tf.int32)[:, None]
    if widths is None and lengths is not None:
        widths = tf.reduce_max(lengths, axis=0)
    batch = {}
    for name, value in parsed.items():
        value = value.to_tensor() if isinstance(value, tf.RaggedTensor) else value
        value = tf.cast(value, tf.int32) if features[name].dtype == "int64" else value
        batch[MODEL_NAMES.get(name, name)] = value
    for place, (mask_name, names) in enumerate(_by_mask(features).items()):
        for name in (MODEL_NAMES.get(name, name) for name in names if name != INPUT_MASK):
            batch[name] = _of_width(batch[name], widths[place])
        batch[mask_name] = tf.sequence_mask(lengths[:, place], widths[place])
    return batch


def _by_mask(features: Mapping[str, Feature]) -> dict[str, list[str]]:
    """The sequences that share a mask, by its name, in alphabetical order."""
    sequences = [(feature.mask, name) for name, feature in features.items() if feature.is_sequence]
    return {mask: [name for one, name in sequences if one == mask] for mask in sorted({mask for mask, _ in sequences})}


def _of_width(value: tf.Tensor, width: tf.Tensor) -> tf.Tensor:
    """(B, T, ...) -> (B, width, ...), cut or padded."""
    value = value[:, :width]
    rest = [[0, 0]] * (value.shape.rank - 2)
    return tf.pad(
        value, [[0, 0], [0, width - tf.shape(value)[1]], *rest], constant_values="" if value.dtype == tf.string else 0
    )


def _row_lengths(name: str, axis: int) -> str:
    """Where a record says how long each part along an inner axis is."""
    return f"{name}/row_lengths_{axis}"


def _feature(dtype: str, elements: Sequence[Any]) -> tf.train.Feature:
    if dtype == "bytes":
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=elements))
    if dtype == "int64":
        return tf.train.Feature(int64_list=tf.train.Int64List(value=elements))
    return tf.train.Feature(float_list=tf.train.FloatList(value=elements))


@contextlib.contextmanager
def _disk_errors(path: Path) -> Iterator[None]:
    """TensorFlow's writer has an error of its own for a full disk; `files` says what to do about Python's."""
    try:
        yield
    except tf.errors.ResourceExhaustedError:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path)) from None


def _verified(folder: Path, split: str) -> Stored:
    try:
        return files.verify(folder, f"{split}-*", shape=Stored, remedy=PREPARE_AGAIN)
    except DataError as error:
        path = Path(error.where)
        if path.suffix == ".tfrecord" and path.is_file():
            error.where = f"{path}, byte {_first_damage(path)}"
        raise


def _first_damage(path: Path) -> int:
    """Where the first record, or its data, begins that cannot be read; else the file lacks records at its end."""
    try:
        for _ in tf.data.TFRecordDataset(str(path)):
            pass
    except tf.errors.DataLossError as error:
        return int(re.search(r"record at (\d+)", error.message).group(1))
    return path.stat().st_size
