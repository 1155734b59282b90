"""TFRecord shards of records, verified when they are opened.

Next to each shard `x.tfrecord` are `x.lengths.npy`, the lengths of the sequences of each record, `x.rows.npy`, the
source row of each record, and for classes `x.label_ids.npy`. Batches are planned from these files without reading the
records.
"""

import contextlib
import errno
import os
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NotRequired

import numpy as np
import tensorflow as tf
from typing_extensions import TypedDict

from tfattn import files
from tfattn.data.examples.encoding import MODEL_NAMES, Feature, by_mask, described, have_classes, lengths_of, serialized
from tfattn.errors import DataError
from tfattn.features import ENCODED, LABEL_IDS

ROWS_PER_SHARD = 8192
PREPARE_AGAIN = "Prepare the data again: `tfattn prepare PIPELINE --force`."


def shard_name(split: str, number: int, total: int) -> str:
    """Return the file name of a shard, which includes the number of shards."""
    return f"{split}-{number:05d}-of-{total:05d}.tfrecord"


def write_shard(
    path: Path,
    records: Iterable[bytes],
    *,
    lengths: np.ndarray,
    rows: np.ndarray | None = None,
    label_ids: np.ndarray | None = None,
) -> None:
    """Write a shard and the files next to it.

    Args:
        path: path of the shard, in an existing folder.
        records: n serialized examples.
        lengths: (n, k), see `lengths_of`.
        rows: (n,), index of the source row of each record in its split; by default the index of the record.
        label_ids: (n,), the class of each record, if records have classes.
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
    """Write the shards of a split, with an example per row, into an existing folder (of an `atomic_folder`).

    Args:
        folder: the folder.
        split: "train", "validation" or "test".
        examples: for each row, a number or a list of numbers per name of `features`.
        features: features of a record, by the names in the file.
        num_rows: number of examples.
        rows_per_shard: records per file.

    Returns:
        the entry of the split in the manifest: rows and shards.
    """
    total = -(-num_rows // rows_per_shard)
    examples = iter(examples)
    written = 0
    for number in range(total):
        some = list(islice(examples, rows_per_shard))
        write_shard(
            Path(folder) / shard_name(split, number, total),
            serialized(some, features),
            lengths=lengths_of(some, features),
            rows=np.arange(written, written + len(some)),
            label_ids=np.array([values[LABEL_IDS] for values in some]) if have_classes(features) else None,
        )
        written += len(some)
    assert written == num_rows and next(examples, None) is None, f"expected {num_rows} rows"
    return {"rows": num_rows, "shards": total}


def write_encoded(folder: str | Path, splits: dict[str, dict[str, np.ndarray]], *, targets: dict[str, Feature]) -> None:
    """Write the output vectors of a frozen encoder as records, which a Reader reads instead of tokens.

    Args:
        folder: the folder, which appears atomically.
        splits: for each split, `encoded` (N, D) float32 and the targets, (N, ...) each, in the order of the original
            records.
        targets: features of the targets in the original records.
    """
    counts: dict[str, dict[str, int]] = {}
    size = next(iter(splits.values()))[ENCODED].shape[1]
    features = {ENCODED: Feature("float32", (size,)), **targets}
    # The manifest is written when the block ends, with the counts at that time.
    with files.atomic_folder(folder, features=described(features), splits=counts) as new:
        for split, columns in splits.items():
            rows = zip(*(columns[name] for name in features), strict=True)
            examples = (dict(zip(features, (value.tolist() for value in row), strict=True)) for row in rows)
            counts[split] = write_records(new, split, examples, features=features, num_rows=len(columns[ENCODED]))


class StoredSplit(TypedDict):
    """The number of rows and shards of a split."""

    rows: int
    shards: int


class Stored(files.Manifest):
    """The manifest of a folder of records, in addition to its files.

    Attributes:
        splits: by name.
        features: features of a record, by the names in the file.
        target_fields: the raw text fields that are targets, if any.
    """

    splits: dict[str, StoredSplit]
    features: dict[str, Feature]
    target_fields: NotRequired[list[str]]


class Records:
    """A split of a folder of records, verified against its manifest when opened.

    Args:
        folder: a folder of `prepare` or `write_encoded`.
        split: "train", "validation" or "test".

    Attributes:
        paths: the shards, in order.
        lengths: for each shard (n, k) or (n, k, a), see `lengths_of`.
        rows: for each shard (n,), index of the source row of each record in the split.
        label_ids: for each shard, the class of each record; None without classes.
        features: features of a record, by the names in the file.
        inputs, targets: names of the inputs and of the targets of a parsed batch.
        masks: names of the masks of a parsed batch, in the order of the columns of `lengths`.
        manifest: the manifest of the folder.

    Raises:
        DataError: the split does not exist, or a file is missing or damaged; names the file and the damaged byte.
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
        self.lengths, self.rows = self._load_all(".lengths.npy"), self._load_all(".rows.npy")
        self.features = self.manifest["features"]
        self.inputs, self.targets = (self._of_role(role) for role in ("input", "target"))
        self.masks = tuple(by_mask(self.features))
        self.label_ids = self._load_all(".label_ids.npy") if have_classes(self.features) else None

    def _of_role(self, role: str) -> tuple[str, ...]:
        chosen = {name: feature for name, feature in self.features.items() if feature.role == role}
        return (*(MODEL_NAMES.get(name, name) for name in chosen), *by_mask(chosen))

    def _load_all(self, suffix: str) -> list[np.ndarray]:
        return [np.load(path.with_suffix(suffix), allow_pickle=False) for path in self.paths]


@contextlib.contextmanager
def _disk_errors(path: Path) -> Iterator[None]:
    """Convert TensorFlow's error of a full disk to Python's, for which `files` has a remedy."""
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
    """Return the offset of the first unreadable record, or the size of a truncated file."""
    try:
        for _ in tf.data.TFRecordDataset(str(path)):
            pass
    except tf.errors.DataLossError as error:
        return int(re.search(r"record at (\d+)", error.message).group(1))
    return path.stat().st_size
