"""A tiny classifier of texts, and one export of it that all tests of this room read."""

from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfattn.export.saved_model import export
from tfattn.export.section import Export
from tfattn.export.signatures import Classification
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


def classifier(vocabulary: Path, *, fields: tuple[str, ...] = ("text",)) -> Classification:
    vocabulary.write_text("".join(f"{word}\n" for word in WORDS))
    tokenizer = WordPiece(vocabulary=str(vocabulary), max_length=16, fields=fields)
    tokenizer.fit([])
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
    return Classification(task=task, tokenizer=tokenizer, labels=LABELS)


def trained_answers(served: Classification, rows: list[dict[str, str]]) -> dict[str, np.ndarray]:
    """What the model says to each row alone, without any function of the export."""
    tokens = [served.tokens({field: [row[field]] for field in served.inputs}) for row in rows]
    answers = [served._answers(served._run(one)) for one in tokens]
    return {name: np.concatenate([one[name] for one in answers]) for name in ("label_ids", "scores")}


@pytest.fixture(scope="session")
def served(tmp_path_factory) -> Classification:
    return classifier(tmp_path_factory.mktemp("vocabulary") / "vocab.txt")


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
def pair(tmp_path_factory) -> Classification:
    return classifier(tmp_path_factory.mktemp("vocabulary") / "vocab.txt", fields=("text_a", "text_b"))
