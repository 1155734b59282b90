"""TFRecord files of records: written in shards, and checked when they are opened.

Beside each shard `x.tfrecord` stands `x.lengths.npy`, the tokens of each sequence of each of its records, `x.rows.npy`,
the source row of each, and where they have labels `x.label_ids.npy`: batches are planned without reading the records.
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
from tfattn.data.encoding import MODEL_NAMES, Feature, by_mask, described, have_classes, lengths_of, serialized
from tfattn.errors import DataError
from tfattn.features import ENCODED, LABEL_IDS

ROWS_PER_SHARD = 8192
PREPARE_AGAIN = "Prepare the data again: `tfattn prepare PIPELINE --force`."


def shard_name(split: str, number: int, total: int) -> str:
    """Return the name of a shard, which says how many belong together."""
    return f"{split}-{number:05d}-of-{total:05d}.tfrecord"


def write_shard(
    path: Path,
    records: Iterable[bytes],
    *,
    lengths: np.ndarray,
    rows: np.ndarray | None = None,
    label_ids: np.ndarray | None = None,
) -> None:
    """Write a shard, and what is known of each of its records beside it.

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
    """Write the shards of one split, an example for each row, into an existing folder (that of an `atomic_folder`).

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
            serialized(some, features),
            lengths=lengths_of(some, features),
            rows=np.arange(written, written + len(some)),
            label_ids=np.array([values[LABEL_IDS] for values in some]) if have_classes(features) else None,
        )
        written += len(some)
    assert written == num_rows and next(examples, None) is None, f"other than the announced {num_rows} rows came"
    return {"rows": num_rows, "shards": total}


def write_encoded(folder: str | Path, splits: dict[str, dict[str, np.ndarray]], *, targets: dict[str, Feature]) -> None:
    """Write the vectors of a frozen encoder, once, as records that the same Reader reads in place of tokens.

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


class Records:
    """One split of a folder of records, held against its manifest when opened.

    Args:
        folder: what `prepare` or `write_encoded` wrote.
        split: "train", "validation" or "test".

    Attributes:
        paths: the shards, in order.
        lengths: for each shard (n, k) or (n, k, a), of its n records, as `lengths_of` measures them.
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
        self.masks = tuple(by_mask(self.features))
        self.label_ids = self._beside(".label_ids.npy") if have_classes(self.features) else None

    def _of_role(self, role: str) -> tuple[str, ...]:
        chosen = {name: feature for name, feature in self.features.items() if feature.role == role}
        return (*(MODEL_NAMES.get(name, name) for name in chosen), *by_mask(chosen))

    def _beside(self, suffix: str) -> list[np.ndarray]:
        return [np.load(path.with_suffix(suffix), allow_pickle=False) for path in self.paths]


@contextlib.contextmanager
def _disk_errors(path: Path) -> Iterator[None]:
    """Raise Python's error of a full disk instead of TensorFlow's own; `files` says what to do about it."""
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
    """Find where the first unreadable record, or its data, begins; else the file lacks records at its end."""
    try:
        for _ in tf.data.TFRecordDataset(str(path)):
            pass
    except tf.errors.DataLossError as error:
        return int(re.search(r"record at (\d+)", error.message).group(1))
    return path.stat().st_size
