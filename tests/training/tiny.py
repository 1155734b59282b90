"""A tiny classifier on 53 short rows; as a script, one training run of it in a process of its own.

    python tiny.py SETTINGS.json

SETTINGS: data (a prepared folder), folder (of the run), precision, strategy, logical_devices, dropout, seed, trainer
(the keyword arguments of Trainer, an optimizer or schedule among them as [name, arguments]), determinism, slow (seconds
that each call of the loop sleeps). Writes final.npz into the folder: history losses, and the weights by path.
"""

import json
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np

from tfattn import catalog, files
from tfattn.data.batching import Batching
from tfattn.data.reader import Reader
from tfattn.data.records import Feature, described, write_records
from tfattn.models.bert import Bert
from tfattn.tasks.text_classification import TextClassification
from tfattn.training.callbacks import EarlyStopping
from tfattn.training.runtime import Runtime
from tfattn.training.trainer import Trainer

CLASSES = 3
SIZES = {
    "vocabulary_size": 60,
    "hidden_dim": 16,
    "num_layers": 2,
    "num_heads": 2,
    "intermediate_dim": 32,
    "max_sequence_length": 16,
}
FEATURES = {
    "input_ids": Feature("int64", "sequence"),
    "segment_ids": Feature("int64", "sequence"),
    "label_ids": Feature("int64", "scalar"),
}


def write_rows(folder: Path) -> Path:
    """Rows whose label is the class of token that is most frequent in them."""
    splits = {}
    random = np.random.default_rng(0)
    with files.atomic_folder(folder, features=described(FEATURES), splits=splits) as new:
        for split, count in (("train", 53), ("validation", 23)):
            examples = []
            for row in range(count):
                length, label = int(random.integers(3, 13)), row % CLASSES
                ids = random.integers(1, 49, length) // CLASSES * CLASSES + label
                examples.append({"input_ids": ids.tolist(), "segment_ids": [0] * length, "label_ids": label})
            splits[split] = write_records(new, split, examples, features=FEATURES, num_rows=count, rows_per_shard=20)
    return folder


def read(folder: str | Path, split: str, seed: int = 5) -> Reader:
    """A reader of what `write_rows` wrote."""
    return Reader(folder, split, batching=Batching(batch_size=8), seed=seed, shuffle=split == "train")


def build_task(*, dropout: float = 0.0, **options) -> TextClassification:
    """A built classifier; call it in the scope of a runtime."""
    return TextClassification(model=Bert(dropout=dropout, **SIZES), num_classes=CLASSES, dropout=dropout, **options)


def build_trainer(settings: dict) -> Trainer:
    """A trainer from plain values."""
    parts = {
        key: catalog.find(f"{key}s", settings[key][0])(**settings[key][1])
        for key in ("optimizer", "schedule")
        if key in settings
    }
    stopping = {"early_stopping": EarlyStopping(**settings["early_stopping"])} if "early_stopping" in settings else {}
    return Trainer(**settings | parts | stopping)


def main(settings: dict) -> None:
    if settings.get("determinism"):
        import tensorflow as tf

        tf.config.experimental.enable_op_determinism()
    seed = settings.get("seed", 7)
    runtime = Runtime(
        precision=settings.get("precision", "float32"),
        strategy=settings.get("strategy", "auto"),
        logical_devices=settings.get("logical_devices", 0),
    ).start(seed)
    with runtime.scope():
        task = build_task(dropout=settings.get("dropout", 0.0))
    if settings.get("slow"):
        from tfattn.training.loop import Loop

        call = Loop.__call__
        Loop.__call__ = lambda *values, **named: (time.sleep(settings["slow"]), call(*values, **named))[1]
    folder = Path(settings["folder"])
    history = build_trainer(settings["trainer"]).train(
        task,
        read(settings["data"], "train"),
        read(settings["data"], "validation"),
        folder=folder,
        runtime=runtime,
        seed=seed,
    )
    if runtime.is_chief:
        weights = {variable.path: np.asarray(variable) for variable in task.weights}
        losses = [line[name] for line in history for name in ("loss", "validation_loss")]
        with open(folder / "final.npz", "wb") as file:
            np.savez(file, losses=losses, replicas=runtime.num_replicas, **weights)


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text()))
