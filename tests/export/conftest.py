"""Tiny classifiers of texts and of table rows, and a shared export of each."""

from collections.abc import Sequence
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfattn.export.row_tasks import Classifier
from tfattn.export.saved_model import export
from tfattn.export.section import Export
from tfattn.formats.training_file import FileFormat, TrainingFile
from tfattn.models.bert import Bert
from tfattn.models.feature_tokenizer_transformer import FeatureTokenizerTransformer
from tfattn.preprocessing.preprocessor import Located
from tfattn.preprocessing.table import TableColumns
from tfattn.preprocessing.wordpiece import WordPiece
from tfattn.tasks.classification import Classification
from tfattn.trained.ensemble import TrainedEnsemble

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


@pytest.fixture(scope="session", autouse=True)
def checked_in_forks(loaded_once):
    """Checks the exports of this room in forks of one process."""


@pytest.fixture(scope="session")
def small_bert():
    """Makes an encoder of some words: `small_bert(words, seed, num_layers=2)`."""

    def small_bert(words: Sequence[str], seed: int, **options) -> Bert:
        keras.utils.set_random_seed(seed)
        sizes = {"hidden_dim": 8, "num_layers": 1, "num_heads": 2, "intermediate_dim": 16, "max_sequence_length": 16}
        return Bert(vocabulary_size=len(words), **{**sizes, "initializer_range": 0.7, **options})

    return small_bert


@pytest.fixture(scope="session")
def wordpiece(tmp_path_factory):
    """Makes a fitted tokenizer of some words: `wordpiece(words, locate="pieces", max_length=8)`."""

    def wordpiece(words: Sequence[str], locate: Located | None = None, **options) -> WordPiece:
        path = tmp_path_factory.mktemp("vocabulary") / "vocab.txt"
        path.write_text("".join(f"{word}\n" for word in words))
        made = WordPiece(vocabulary=str(path), **{"max_length": 16, **options})
        if locate:
            made.locate(locate)
        made.fit([])
        return made

    return wordpiece


@pytest.fixture(scope="session")
def task(small_bert) -> Classification:
    bert = small_bert(WORDS, seed=3, num_layers=2, initializer_range=0.5)
    task = Classification(model=bert, targets={"labels": LABELS, "counts": [1] * len(LABELS)})
    task.head.kernel.assign(np.random.default_rng(3).normal(size=task.head.kernel.shape))
    return task


@pytest.fixture(scope="session")
def classifier(task, wordpiece):
    """Makes an exportable classifier that reads these fields."""

    def classifier(*fields: str, **options) -> Classifier:
        return Classifier(TrainedEnsemble([(wordpiece(WORDS, fields=fields, **options), task)]))

    return classifier


@pytest.fixture(scope="session")
def served(classifier) -> Classifier:
    return classifier("text")


@pytest.fixture(scope="session")
def pair(classifier) -> Classifier:
    return classifier("text_a", "text_b")


@pytest.fixture(scope="session")
def expected(task, served) -> dict[str, np.ndarray]:
    """What the model itself says to each row alone."""
    answers = [task.predictions(task(served.input_side.tokens({"text": [row["text"]]}))) for row in ROWS]
    return {name: np.concatenate([answer[name] for answer in answers]) for name in ("label_ids", "scores")}


@pytest.fixture(scope="session")
def rows() -> list[dict[str, str]]:
    return ROWS


@pytest.fixture(scope="session")
def exported(served, expected, tmp_path_factory) -> Path:
    """saved_models/reports/1, exported and checked in a fresh process."""
    section = Export(folder=str(tmp_path_factory.mktemp("work") / "saved_models"), version="next")
    return export(
        served,
        name="reports",
        section=section,
        rows=ROWS,
        expected=expected,
        config="name: reports\n",
        trained_on=TrainingFile({"text": "Description"}, suffix=".csv", format=FileFormat("csv", delimiter=";")),
    )


@pytest.fixture(scope="session")
def loaded(exported):
    return tf.saved_model.load(str(exported))


# A column each whose numbers may be missing and which is capped, and one of categories.
NUMERIC, CATEGORICAL = ("age", "hours-per-week", "Score.BG"), ("work_class",)
TABLE_ROWS = [
    {
        "age": str(20 + 3 * number),
        "hours-per-week": "?" if number % 5 == 2 else str(10 + 7 * number % 31),
        "Score.BG": "5000" if number % 4 == 3 else str(number * number / 8),
        "work_class": ["private", "", "Straße"][number % 3],
        "label": ["noise", "real"][number % 2],
        "row": f"people.csv:{number + 2}",
    }
    for number in range(12)
]


def table_member(seed: int, rows=TABLE_ROWS, num_classes: int = 2) -> tuple[TableColumns, Classification]:
    """A fitted preprocessor and a classifier with weights of its own."""
    table = TableColumns(
        numeric=NUMERIC, categorical=CATEGORICAL, caps={"Score.BG": 5000.0}, bins=4, scaling="quantile"
    )
    table.fit(rows)
    keras.utils.set_random_seed(seed)
    model = FeatureTokenizerTransformer(
        **table.sizes, hidden_dim=8, num_layers=1, num_heads=2, numeric_embedding="piecewise_linear"
    )
    labels = ["noise", "real", "unclear"][:num_classes]
    task = Classification(model=model, targets={"labels": labels, "counts": [1] * num_classes})
    task.head.kernel.assign(np.random.default_rng(seed).normal(scale=3, size=task.head.kernel.shape))
    logits = task(table({name: tf.constant([row[name] for row in TABLE_ROWS]) for name in table.fields}))["logits"]
    task.head.bias.assign(-np.median(logits, axis=0))  # so that every label is given to some
    return table, task


@pytest.fixture(scope="session")
def make_member():
    return table_member


@pytest.fixture(scope="session")
def table_rows() -> list[dict[str, str]]:
    return TABLE_ROWS


@pytest.fixture(scope="session")
def table_members():
    """Two models, the second of which saw other training rows; what they say alone differs."""
    return [table_member(1), table_member(2, [*TABLE_ROWS, {**TABLE_ROWS[0], "age": "400"}])]


@pytest.fixture(scope="session")
def ask_members():
    """What some models answer together in this process, as numpy arrays."""

    return lambda members, rows: TrainedEnsemble(members).predict(rows)


@pytest.fixture(scope="session")
def exported_table(table_members, ask_members, tmp_path_factory) -> Path:
    """saved_models/people/1: two models, exported and checked in a fresh process."""
    answers = ask_members(table_members, TABLE_ROWS)
    return export(
        Classifier(TrainedEnsemble(table_members)),
        name="people",
        section=Export(folder=str(tmp_path_factory.mktemp("work") / "saved_models"), version="next"),
        rows=TABLE_ROWS,
        expected={name: answers[name] for name in ("label_ids", "scores")},
        config="name: people\n",
    )


@pytest.fixture(scope="session")
def loaded_table(exported_table):
    return tf.saved_model.load(str(exported_table))
