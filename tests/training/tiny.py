"""Tiny tasks on 53 short rows; as a script, training runs in a separate process.

    python tiny.py SETTINGS.json

SETTINGS: data (what `write_rows` wrote), task (one of TASKS; "bert" has one block), dropout, precision, strategy,
logical_devices, seed, pause (seconds before each call of the loop), kill_once (a file; where it is not there yet, the
last worker makes it and kills itself at the tenth call), and runs: for each folder the keyword arguments of Trainer, an
optimizer or schedule among them as [name, arguments], and maybe a task and dropout of its own. After a run its folder
holds `done`.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
from keras import ops

from tfattn import files, registry
from tfattn.data.batching import Batching
from tfattn.data.examples.encoding import Feature, described
from tfattn.data.reader import Reader
from tfattn.data.records import write_records
from tfattn.features import (
    LABEL_IDS,
    LOGITS,
    LOSS_MASK,
    PADDING_MASK,
    REFERENCE_LOG_PROBABILITIES,
    TOKEN_IDS,
    WEIGHTS,
)
from tfattn.layers.dropout import Dropout
from tfattn.layers.lora import Lora
from tfattn.layers.normalization import BatchNormalization
from tfattn.models.bert import Bert
from tfattn.models.gpt import Gpt
from tfattn.ops.contrastive import in_batch_negatives
from tfattn.tasks.classification import Classification
from tfattn.tasks.distillation import Distillation
from tfattn.tasks.preference_optimization import PreferenceOptimization
from tfattn.tasks.task import Task
from tfattn.training.loop import TrainingLoop
from tfattn.training.runtime import Runtime
from tfattn.training.trainer import Trainer

CLASSES = 3
PARTS = {"optimizer": "optimizers", "schedule": "schedules", "averaging": "averages"}
TOKENS = 60
FEATURES = {
    "input_ids": Feature("int64", (None,)),
    "segment_ids": Feature("int64", (None,)),
    "label_ids": Feature("int64", role="target"),
}


class BagOfTokens(Task):
    """A classifier of the mean of token vectors, which compiles quickly.

    `poison` is a token whose rows have a loss that is not a number; `huge` multiplies the loss.
    """

    loss_names = ("label",)
    metric_names, monitor, monitor_mode = ("accuracy",), "accuracy", "max"

    def __init__(self, *, dropout: float = 0.0, poison: int = -1, huge: float = 1.0):
        super().__init__(name="bag")
        self.poison = poison
        self.huge = huge
        self.embedding = keras.layers.Embedding(TOKENS, 8, name="embedding")
        self.embedding.build()
        self.dropout = Dropout(dropout, name="dropout")
        self.dropout.build((None, 8))
        self.unused = keras.layers.Dense(2, name="unused")
        self.unused.build((None, 8))
        self.head = keras.layers.Dense(CLASSES, name="head")
        self.head.build((None, 8))
        self.built = True

    def call(self, features: dict[str, Any], training: bool = False) -> dict[str, Any]:
        x = self.dropout(self.embedding(features[TOKEN_IDS]), training=training)
        x = ops.sum(x * ops.cast(features[PADDING_MASK], x.dtype)[..., None], axis=1)
        return {LOGITS: ops.cast(self.head(x), "float32")}

    def loss_weights(self, batch: dict[str, Any]) -> dict[str, Any]:
        return {"label": batch[WEIGHTS]}

    def loss_terms(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        loss = keras.losses.sparse_categorical_crossentropy(batch[LABEL_IDS], outputs[LOGITS], from_logits=True)
        poisoned = ops.any(batch[TOKEN_IDS] == self.poison, axis=1)
        return {"label": ops.where(poisoned, float("nan"), loss * self.huge)}

    def predictions(self, outputs: dict[str, Any]) -> dict[str, Any]:
        return {LABEL_IDS: ops.argmax(outputs[LOGITS], axis=-1)}

    def statistics(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        right = ops.cast(ops.argmax(outputs[LOGITS], axis=-1) == batch[LABEL_IDS], "float32")
        return {"right": ops.sum(right * batch[WEIGHTS]), "rows": ops.sum(batch[WEIGHTS])}

    def metrics_from(self, statistics: dict[str, Any], rows: dict[str, np.ndarray]) -> dict[str, float]:
        return {"accuracy": float(statistics["right"] / statistics["rows"])}

    def depth_groups(self) -> list[list[keras.Variable]]:
        return [layer.trainable_variables for layer in (self.embedding, self.unused, self.head)]


class TwoTerms(BagOfTokens):
    """The same with a second loss term, on other elements, which keeps the logits of a label small."""

    loss_names = ("label", "norm")

    def loss_weights(self, batch: dict[str, Any]) -> dict[str, Any]:
        of_label = batch[WEIGHTS] * ops.cast(batch[LABEL_IDS] == 0, "float32")
        return {**super().loss_weights(batch), "norm": ops.repeat(of_label[:, None], CLASSES, axis=1)}

    def loss_terms(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        return {**super().loss_terms(outputs, batch), "norm": ops.square(outputs[LOGITS])}


class ComparedRows(BagOfTokens):
    """The same with a loss that compares each row with the rows of other labels in the whole batch."""

    whole_batch = (LOGITS, LABEL_IDS, WEIGHTS)

    def loss_terms(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        x, label_ids = outputs[LOGITS], batch[LABEL_IDS]
        is_negative = (label_ids[:, None] != label_ids[None, :]) & (batch[WEIGHTS] > 0)[None, :]
        return {"label": in_batch_negatives(x, x, is_negative, temperature=0.5)}


def build_bert(*, dropout: float = 0.0) -> Classification:
    """Build a classifier with attention; call it in the scope of a runtime."""
    encoder = Bert(
        vocabulary_size=TOKENS,
        hidden_dim=16,
        num_layers=1,
        num_heads=2,
        intermediate_dim=32,
        max_sequence_length=16,
        dropout=dropout,
    )
    return Classification(model=encoder, targets={"labels": None, "counts": [1] * CLASSES}, dropout=dropout)


def build_adapted_bert(*, dropout: float = 0.0) -> Classification:
    """Build the classifier with a low-rank adapter; the other weights of its encoder are not trained."""
    task = build_bert(dropout=dropout)
    Lora(rank=2, targets=["query", "value", "feed_forward"], dropout=dropout).attach(task.model)
    return task


def build_distilled_bert(*, dropout: float = 0.0) -> Distillation:
    """Build the classifier as a student of a wider and deeper one, by its predictions and its layers."""
    student = build_bert(dropout=dropout)
    sizes = {"vocabulary_size": TOKENS, "hidden_dim": 24, "num_layers": 2, "num_heads": 2, "intermediate_dim": 32}
    teacher = Classification(model=Bert(**sizes), targets={"labels": None, "counts": [1] * CLASSES})
    return Distillation(student=student, teacher=teacher, soft_labels=0.5, hidden_states=1.0, attention=1.0)


def build_preferring_gpt(*, dropout: float = 0.0) -> PreferenceOptimization:
    """Build a language model that learns preferences between two halves of each row."""
    model = Gpt(vocabulary_size=TOKENS, hidden_dim=8, num_layers=1, num_heads=2, intermediate_dim=16, dropout=dropout)
    return Halves(model=model, preprocessor=Tokens(), beta=0.5)


class Tokens:
    """The bytes of tokens."""

    token_bytes = [b"a"] * TOKENS


class Halves(PreferenceOptimization):
    """Preferences between rows and the same rows in reverse order; the log probabilities of the reference are fixed."""

    metric_names, monitor, monitor_mode = (*PreferenceOptimization.metric_names, "accuracy"), "accuracy", "max"

    def call(self, features: dict[str, Any], training: bool = False) -> dict[str, Any]:
        token_ids, mask = features[TOKEN_IDS], features[PADDING_MASK]
        both = ops.stack([token_ids, ops.flip(token_ids, axis=1)], axis=1)
        masks = ops.stack([mask, ops.flip(mask, axis=1)], axis=1)
        pair = {TOKEN_IDS: both, PADDING_MASK: masks, LOSS_MASK: ops.cast(masks, "int32")}
        return super().call(pair, training=training)

    def loss_terms(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        return super().loss_terms(outputs, self._with_reference(batch))

    def statistics(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        return super().statistics(outputs, self._with_reference(batch))

    def metrics_from(self, statistics: dict[str, Any], rows: dict[str, np.ndarray]) -> dict[str, float]:
        metrics = super().metrics_from(statistics, rows)
        return {**metrics, "accuracy": metrics["preference_accuracy"]}

    def _with_reference(self, batch: dict[str, Any]) -> dict[str, Any]:
        lengths = ops.sum(ops.cast(batch[PADDING_MASK], "float32"), axis=1)
        return {**batch, REFERENCE_LOG_PROBABILITIES: ops.stack([-4.0 * lengths, -4.1 * lengths], axis=1)}


class Normalized(BagOfTokens):
    """A classifier whose tokens and rows are normalized over the batch, in layers that depend on each other."""

    def __init__(self, *, dropout: float = 0.0):
        super().__init__(dropout=dropout)
        self.norms = [BatchNormalization(epsilon=1e-3, momentum=0.9, name=f"norm_{index}") for index in range(3)]
        self.inner = keras.layers.Dense(8, activation="tanh", name="inner")
        for layer in (*self.norms, self.inner):
            layer.build((None, 8))

    def call(self, features: dict[str, Any], training: bool = False) -> dict[str, Any]:
        mask = features[PADDING_MASK]
        x = self.dropout(self.embedding(features[TOKEN_IDS]), training=training)
        x = self.norms[0](x, padding_mask=mask, training=training)
        x = self.norms[1](self.inner(x), padding_mask=mask, training=training)
        x = ops.mean(x * ops.cast(mask, x.dtype)[..., None], axis=1)
        return {LOGITS: ops.cast(self.head(self.norms[2](x, training=training)), "float32")}


class NormalizedComparedRows(Normalized, ComparedRows):
    """Rows that are normalized and compared over the batch."""


TASKS = {
    "bert": build_bert,
    "adapter": build_adapted_bert,
    "bag": BagOfTokens,
    "two terms": TwoTerms,
    "compared": ComparedRows,
    "normalized": Normalized,
    "normalized and compared": NormalizedComparedRows,
    "distilled": build_distilled_bert,
    "preferences": build_preferring_gpt,
}


def write_rows(folder: Path) -> Path:
    """Write rows of tokens that determine their label."""
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


def read(folder: str | Path, split: str, *, batch_size: int = 8) -> Reader:
    """Return a reader of the rows of `write_rows`."""
    return Reader(folder, split, batching=Batching(batch_size=batch_size), seed=5, shuffle=split == "train")


def build_trainer(settings: dict[str, Any]) -> Trainer:
    """Build a trainer from plain values."""
    parts = {
        key: registry.find(group, settings[key][0])(**settings[key][1])
        for key, group in PARTS.items()
        if key in settings
    }
    return Trainer(**settings | parts)


def main(settings: dict[str, Any]) -> None:
    """Make all runs of the settings in this process."""
    seed = settings.get("seed", 7)
    runtime = Runtime(
        precision=settings.get("precision", "float32"),
        strategy=settings.get("strategy", "auto"),
        logical_devices=settings.get("logical_devices", 0),
    ).start()
    _trouble(settings, runtime)
    for folder, training in settings["runs"].items():
        keras.utils.set_random_seed(seed)
        with runtime.scope():
            make = TASKS[training.pop("task", settings.get("task", "bert"))]
            task = make(dropout=training.pop("dropout", settings.get("dropout", 0.0)))
        build_trainer(training).train(
            task,
            read(settings["data"], "train"),
            read(settings["data"], "validation"),
            folder=folder,
            runtime=runtime,
            seed=seed,
        )
        if runtime.is_chief:
            (Path(folder) / "done").write_text(str(runtime.num_replicas))


def _trouble(settings: dict[str, Any], runtime: Runtime) -> None:
    call = TrainingLoop.__call__
    count = 0

    def troubled(*values: Any, **named: Any) -> Any:
        nonlocal count
        count += 1
        killed = Path(settings.get("kill_once", "."))
        if count == 10 and not killed.exists() and runtime.local_replicas.stop == runtime.num_replicas:
            killed.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(settings.get("pause", 0))
        return call(*values, **named)

    TrainingLoop.__call__ = troubled


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text()))
