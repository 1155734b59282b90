"""A small folder of records, and a small preprocessor."""

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from tests.data.small_parts import PART_BYTES
from tfattn import files
from tfattn.data.examples.encoding import Feature, described
from tfattn.data.records import write_records
from tfattn.formats import parts
from tfattn.preprocessing.preprocessor import Preprocessor

FEATURES = {
    "input_ids": Feature("int64", (None,)),
    "segment_ids": Feature("int64", (None,)),
    "label_ids": Feature("int64", role="target"),
}


def make_examples(num_rows: int, longest: int = 12) -> list[dict]:
    random = np.random.default_rng(num_rows)
    examples = []
    for row in range(num_rows):
        length = int(random.integers(1, longest + 1))
        ids = random.integers(1, 1000, length).tolist()
        examples.append(
            {"input_ids": ids, "segment_ids": [int(i > length // 2) for i in range(length)], "label_ids": row % 3}
        )
    return examples


@pytest.fixture(scope="session")
def examples() -> list[dict]:
    return make_examples(53)


@pytest.fixture
def make_folder(tmp_path, examples):
    """Writes the examples as 53 training rows in six shards, and returns the folder."""

    def make(name: str = "prepared") -> Path:
        return write_folder(tmp_path / name, examples)

    return make


def write_folder(path: Path, examples: list[dict]) -> Path:
    """Write examples as training rows in shards of ten, and return the folder."""
    splits = {}
    with files.atomic_folder(path, features=described(FEATURES), splits=splits) as folder:
        splits["train"] = write_records(
            folder, "train", examples, features=FEATURES, num_rows=len(examples), rows_per_shard=10
        )
    return path


class Words(Preprocessor):
    """Words between spaces: 1 is the first of the training rows, 0 any that they do not have."""

    def __init__(self, *, fields: tuple[str, ...] = ("text",), max_length: int = 8):
        super().__init__()
        self.fields = fields
        self.max_length = max_length

    def fit(self, rows):
        self.words = list(dict.fromkeys(word for row in rows for field in self.fields for word in row[field].split()))
        entries = tf.lookup.KeyValueTensorInitializer(self.words, tf.range(1, len(self.words) + 1))
        self.table = tf.lookup.StaticHashTable(entries, 0)

    def save(self, folder):
        (folder / "words.txt").write_text("\n".join(self.words))

    def __call__(self, fields):
        parts = [tf.strings.split(fields[name]) for name in self.fields]
        segments = [tf.fill(tf.shape(part.flat_values), number) for number, part in enumerate(parts)]
        segments = [part.with_flat_values(values) for part, values in zip(parts, segments, strict=True)]
        words = tf.concat(parts, axis=1)[:, : self.max_length]
        return {
            "token_ids": words.with_flat_values(self.table.lookup(words.flat_values)),
            "segment_ids": tf.concat(segments, axis=1)[:, : self.max_length],
        }

    def truncated(self, fields):
        return sum(tf.strings.split(fields[name]).row_lengths() for name in self.fields) > self.max_length


@pytest.fixture(scope="session")
def words() -> type[Words]:
    """The class of the smallest preprocessor."""
    return Words


@pytest.fixture(autouse=True)
def parts_as_before(monkeypatch):
    """Leaves the size of parts as it was, whoever makes them small."""
    monkeypatch.setattr(parts, "PART_BYTES", parts.PART_BYTES)


@pytest.fixture
def small_parts(monkeypatch):
    """Cuts files into many parts; by a fixture, so that other tests have them as they are."""
    monkeypatch.setattr(parts, "PART_BYTES", PART_BYTES)
