"""A tiny classifier of texts, and one export of it that all tests of this room read."""

from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfattn.export.saved_model import export
from tfattn.export.section import Export
from tfattn.export.text import TextClassifier
from tfattn.models.bert import Bert
from tfattn.preprocessing.wordpiece import WordPiece
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
    {"text": "very loud rattling under the sorter, it is a very loud noise", "label": "机械", "row": "reports.csv:4"},
    {"text": "noise", "label": "机械", "row": "reports.csv:5"},
]


@pytest.fixture(scope="session")
def task() -> TextClassification:
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
    return task


@pytest.fixture(scope="session")
def classifier(task, tmp_path_factory):
    """Makes an exportable classifier that reads these fields."""
    vocabulary = tmp_path_factory.mktemp("vocabulary") / "vocab.txt"
    vocabulary.write_text("".join(f"{word}\n" for word in WORDS))

    def classifier(*fields: str) -> TextClassifier:
        tokenizer = WordPiece(vocabulary=str(vocabulary), max_length=16, fields=fields)
        tokenizer.fit([])
        return TextClassifier(members=[(tokenizer, task)], labels=LABELS)

    return classifier


@pytest.fixture(scope="session")
def served(classifier) -> TextClassifier:
    return classifier("text")


@pytest.fixture(scope="session")
def pair(classifier) -> TextClassifier:
    return classifier("text_a", "text_b")


@pytest.fixture(scope="session")
def expected(task, served) -> dict[str, np.ndarray]:
    """What the model itself says to each row alone."""
    answers = [task.answers(task(served.tokens({"text": [row["text"]]}))) for row in ROWS]
    return {name: np.concatenate([answer[name] for answer in answers]) for name in ("label_ids", "scores")}


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
