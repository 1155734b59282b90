"""Records per second from TFRecord files to padded batches, compared with pipelines of tf.data."""

import tempfile
from pathlib import Path

import numpy as np
import tensorflow as tf

from benchmarks.results import Table
from benchmarks.timing import comparison, medians
from tfattn import files
from tfattn.data.batching import Batching
from tfattn.data.examples.encoding import Feature, described
from tfattn.data.reader import Reader
from tfattn.data.records import write_records

ROWS, LENGTH, BATCH, ROUNDS = 50_000, 128, 256, 5
FEATURES = {
    "input_ids": Feature("int64", (None,)),
    "segment_ids": Feature("int64", (None,)),
    "label_ids": Feature("int64", role="target"),
}
SPEC = {
    "input_ids": tf.io.FixedLenFeature([LENGTH], tf.int64),
    "segment_ids": tf.io.FixedLenFeature([LENGTH], tf.int64),
    "label_ids": tf.io.FixedLenFeature([], tf.int64),
}


def main() -> list[Table]:
    """Read a shuffled epoch of rows of 128 tokens; peers have a shuffle buffer of 10,000."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "data"
        write(folder)
        reader = Reader(folder, "train", batching=Batching(batch_size=BATCH), seed=0, shuffle=True)
        shards = tf.data.Dataset.list_files(str(folder / "*.tfrecord"))
        stored = shards.interleave(tf.data.TFRecordDataset, num_parallel_calls=tf.data.AUTOTUNE).shuffle(10_000)
        batched = stored.batch(BATCH).map(lambda rows: tf.io.parse_example(rows, SPEC), tf.data.AUTOTUNE)
        one_by_one = stored.map(lambda row: tf.io.parse_single_example(row, SPEC), tf.data.AUTOTUNE).batch(BATCH)
        candidates = {
            "tfattn": lambda: exhaust(reader.dataset(0)),
            "batch, then parse": lambda: exhaust(batched.prefetch(2)),
            "parse, then batch": lambda: exhaust(one_by_one.prefetch(2)),
        }
        seconds = medians(candidates, rounds=ROUNDS)
    return [comparison(f"reading {ROWS:,} rows of {LENGTH} tokens, shuffled", seconds, unit="rows", amount=ROWS)]


def write(folder: Path) -> None:
    """Write random rows of equal length, so that all pipelines do the same work."""
    random = np.random.default_rng(0)
    ids = random.integers(1000, 30000, (ROWS, LENGTH)).tolist()
    examples = ({"input_ids": row, "segment_ids": [0] * LENGTH, "label_ids": 1} for row in ids)
    splits: dict = {}
    with files.atomic_folder(folder, splits=splits, features=described(FEATURES), labels=["a", "b"]) as new:
        splits["train"] = write_records(new, "train", examples, features=FEATURES, num_rows=ROWS)


def exhaust(dataset: tf.data.Dataset) -> None:
    """Read a data set to its end."""
    for _ in dataset:
        pass
