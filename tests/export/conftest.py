"""A tiny classifier of texts, and one export of it that all tests of this room read."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_text as tf_text

from tfattn.export.saved_model import export
from tfattn.export.section import Export
from tfattn.export.signatures import Classification
from tfattn.models.bert import Bert
from tfattn.preprocessing.preprocessor import Preprocessor
from tfattn.tasks.text_classification import TextClassification

LABELS = ["Leak", "Électronique", "机械"]
WORDS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "coolant",
    "is",
    "pooling",
    "under",
    "the",
    "sorter",
    "it",
    "blows",
    "fuses",
]
WORDS += ["very", "loud", "rattling", "noise"]
ROWS = [
    {"text": "coolant is pooling under the sorter", "label": "Leak", "row": "reports.csv:2"},
    {"text": "sorter blows fuses", "label": "Électronique", "row": "reports.csv:3"},
    {"text": "very loud rattling under the sorter , it is a very loud noise", "label": "机械", "row": "reports.csv:4"},
    {"text": "noise", "label": "机械", "row": "reports.csv:5"},
]


class Words(Preprocessor):
    """The contract of a tokenizer, as short as can be: known words by their number."""

    def __init__(self, fields: tuple[str, ...] = ("text",), max_length: int = 16):
        super().__init__()
        self.fields = fields
        self.max_length = max_length
        words = tf.lookup.KeyValueTensorInitializer(WORDS, range(len(WORDS)), value_dtype=tf.int64)
        self.table = tf.lookup.StaticHashTable(words, default_value=1)
        self.splitter = tf_text.WhitespaceTokenizer()

    def fit(self, rows: Iterable[dict[str, str]]) -> None:
        pass

    def save(self, folder: Path) -> None:
        (folder / "vocab.txt").write_text("".join(f"{word}\n" for word in WORDS))
        (folder / "tokenizer.json").write_text("{}")

    def __call__(self, fields: dict[str, tf.Tensor]) -> dict[str, Any]:
        segments = [self.table.lookup(self.splitter.tokenize(fields[name])) for name in self.fields]
        trimmed = tf_text.WaterfallTrimmer(self.max_length - 1 - len(segments)).trim(segments)
        token_ids, segment_ids = tf_text.combine_segments(trimmed, start_of_sequence_id=2, end_of_segment_id=3)
        return {"token_ids": tf.cast(token_ids, tf.int32), "segment_ids": tf.cast(segment_ids, tf.int32)}


def classifier(fields: tuple[str, ...] = ("text",)) -> Classification:
    keras.utils.set_random_seed(3)
    bert = Bert(
        vocabulary_size=len(WORDS),
        hidden_dim=8,
        num_layers=2,
        num_heads=2,
        intermediate_dim=16,
        max_sequence_length=16,
        initializer_range=0.5,
    )
    task = TextClassification(model=bert, num_classes=len(LABELS))
    task.head.kernel.assign(np.random.default_rng(3).normal(size=task.head.kernel.shape))
    return Classification(task=task, tokenizer=Words(fields), labels=LABELS)


def trained_answers(served: Classification, rows: list[dict[str, str]]) -> dict[str, np.ndarray]:
    """What the model says to each row alone, without any function of the export."""
    tokens = [served.tokens({field: [row[field]] for field in served.inputs}) for row in rows]
    answers = [served._answers(served._run(one)) for one in tokens]
    return {name: np.concatenate([one[name] for one in answers]) for name in ("label_ids", "scores")}


@pytest.fixture(scope="session")
def served() -> Classification:
    return classifier()


@pytest.fixture(scope="session")
def expected(served) -> dict[str, np.ndarray]:
    return trained_answers(served, ROWS)


@pytest.fixture(scope="session")
def rows() -> list[dict[str, str]]:
    return ROWS


@pytest.fixture(scope="session")
def exported(served, expected, tmp_path_factory) -> Path:
    """saved_models/reports/1, exported and checked in a fresh process."""
    section = Export(folder=str(tmp_path_factory.mktemp("work") / "saved_models"), version="next")
    columns = {"text": "Description"}
    return export(
        served, name="reports", section=section, rows=ROWS, expected=expected, config="name: reports\n", columns=columns
    )


@pytest.fixture(scope="session")
def loaded(exported):
    return tf.saved_model.load(str(exported))


@pytest.fixture(scope="session")
def pair() -> Classification:
    return classifier(("text_a", "text_b"))
