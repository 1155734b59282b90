"""A small text classifier, exported with LiteRT files."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import keras
import numpy as np

from tfattn.export.row_tasks import Classifier
from tfattn.export.saved_model import export
from tfattn.export.section import Export
from tfattn.models.bert import Bert
from tfattn.preprocessing.wordpiece import WordPiece
from tfattn.tasks.classification import Classification
from tfattn.trained.ensemble import TrainedEnsemble

LABELS = ["Leak", "Électronique", "机械"]
WORDS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    *["coolant", "is", "pooling", "under", "the", "sorter", "it", "blows", "fuses", "very", "loud", "noise"],
]
WORDS += [f"word{number}" for number in range(20)]
TEXTS = [
    "coolant is pooling under the sorter",
    "sorter blows fuses",
    "",
    "Very loud noise, it is very loud",
    "noise 海",
]
ROWS = [{"text": text, "row": f"reports.csv:{number}"} for number, text in enumerate(TEXTS * 8, start=2)]

VERSION = "saved_models/reports/1"


def ensemble(folder: Path, seed: int = 3) -> TrainedEnsemble:
    """Make a classifier whose matrices are large enough to be quantized."""
    vocabulary = folder / "vocab.txt"
    vocabulary.write_text("".join(f"{word}\n" for word in WORDS))
    reader = WordPiece(vocabulary=str(vocabulary), max_length=16)
    reader.fit([])
    keras.utils.set_random_seed(seed)
    sizes = {"hidden_dim": 32, "num_layers": 2, "num_heads": 2, "intermediate_dim": 64, "max_sequence_length": 16}
    bert = Bert(vocabulary_size=len(WORDS), initializer_range=0.4, **sizes)
    task = Classification(model=bert, targets={"labels": LABELS, "counts": [1] * len(LABELS)})
    task.head.kernel.assign(np.random.default_rng(seed).normal(size=task.head.kernel.shape))
    return TrainedEnsemble([(reader, task)])


def write(folder: Path, *, seed: int = 3, options: Mapping[str, Any] | None = None, **arguments: Any) -> Path:
    """Export the classifier to VERSION in a folder, and return the version's folder."""
    trained = ensemble(folder, seed)
    section = Export(
        folder=str(folder / "saved_models"), version="next", formats=("saved_model", "litert"), **(options or {})
    )
    expected = trained.predict(ROWS)
    return export(
        Classifier(trained), name="reports", section=section, rows=ROWS, expected=expected, config="", **arguments
    )
