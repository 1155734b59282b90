"""A model of a run: its configuration, its prepared data and the folder of its weights."""

import contextlib
import functools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np

from tfattn import files
from tfattn.config.build import build, locate_errors
from tfattn.config.schema import ADAPTER, Config
from tfattn.data.augmentation import Augmentation
from tfattn.data.examples.examples import Examples
from tfattn.data.examples.transforms import FromRecords, Transform
from tfattn.data.preparation.prepare import Facts, read_facts
from tfattn.data.reader import Reader
from tfattn.data.records import PREPARE_AGAIN
from tfattn.data.sources.raw_rows import read_rows
from tfattn.data.split_config import TRAIN
from tfattn.errors import ConfigError, DataError
from tfattn.layers.adapters import Adapter
from tfattn.preprocessing.preprocessor import Preprocessor
from tfattn.runs.ensemble import training_seed
from tfattn.runs.stage_log import StageLog, announce
from tfattn.tasks.task import Task
from tfattn.training.trainer import Trainer


class Member:
    """A model of a run; an ensemble has several.

    Args:
        config: the configuration of this model.
        prepared: the folder of the prepared data.
        stage_log: the log of the training folder.

    Attributes:
        folder: the training folder, with the checkpoints.
        id: the id of the data and settings of the training.
        seed: the seed of the data.
        training_seed: the seed of weights, the order of rows and dropout.
    """

    def __init__(self, config: Config, *, prepared: Path, stage_log: StageLog):
        self.config = config
        self.prepared = prepared
        self.stage_log = stage_log
        self.id = stage_log.identity
        self.folder = stage_log.folder
        self.seed: int = config.values["seed"]
        self.training_seed = training_seed(config)

    @contextlib.contextmanager
    def preparation(self, *, force: bool) -> Iterator[bool]:
        """Yield whether the data have to be prepared, after waiting for another process that prepares them."""
        with files.lock(self.prepared, wait=True):
            files.remove_leftovers(self.prepared.parent)
            needed = force or not self.prepared.exists()
            announce("prepare", self.prepared, needed=needed)
            yield needed

    @functools.cached_property
    def trainer(self) -> Trainer:
        """The `training` section."""
        return build(self.config, "training")

    @property
    def facts(self) -> Facts:
        """The facts about the prepared data, such as labels and features."""
        return read_facts(self.prepared)

    def rows(self, split: str) -> list[dict[str, str]]:
        """Read the raw rows of a split, in the order of the records."""
        return read_rows(self.prepared, split)

    def reader(self, split: str, *, folder: Path | None = None, with_precomputed: bool = True) -> Reader:
        """Create a reader of the records of a split; training records are shuffled in each epoch.

        Args:
            split: the split's name.
            folder: the folder of the records; the prepared data by default.
            with_precomputed: whether batches have the targets that the task has computed once, if there are any.
        """
        is_training = split == TRAIN
        return Reader(
            folder or self.prepared,
            split,
            batching=build(self.config, "data", "batching"),
            seed=self.training_seed,
            shuffle=is_training,
            transforms=self.transforms(is_training=is_training) if folder in (None, self.prepared) else (),
            columns=self._precomputed(split) if with_precomputed else {},
        )

    @property
    def precomputed(self) -> Path:
        """The folder of the targets that a task computes once for each record, see `Task.precompute`."""
        return self.folder / "precomputed"

    def _precomputed(self, split: str) -> dict[str, np.ndarray]:
        paths = sorted(self.precomputed.glob(f"{split}.*.npy"))
        if paths:
            files.verify(self.precomputed, f"{split}.*", remedy="Train again: `tfattn train PIPELINE --force`.")
        return {path.name.split(".")[1]: np.load(path, allow_pickle=False) for path in paths}

    def preprocessor(self) -> Preprocessor:
        """Build the fitted preprocessor.

        Each call builds a new one: SentencePiece's tables do not survive `tf.random.set_seed`, which clears kernels.
        """
        preprocessor: Preprocessor = build(self.config, "data", "preprocessing")
        files.verify(self.prepared, "preprocessing/*", remedy=PREPARE_AGAIN)
        preprocessor.load(self.prepared / "preprocessing")
        return preprocessor

    def transforms(self, *, is_training: bool) -> Sequence[Transform]:
        """List the transforms of batches; those of training change in each epoch."""
        preprocessor = self.preprocessor()
        decoders = [FromRecords(preprocessor)] if preprocessor.file_fields else []
        if not is_training:
            return decoders
        examples: Examples = build(self.config, "data", "examples")
        transforms = [*decoders, *examples.transforms(preprocessor)]
        if self.config.at("data", "augmentation") is None:
            return transforms
        augmentation: Augmentation = build(self.config, "data", "augmentation")
        return [*transforms, *augmentation.transforms()]

    def task(self, preprocessor: Preprocessor) -> Task:
        """Build the untrained model for the sizes of the data, and its task.

        Args:
            preprocessor: the fitted preprocessor.
        """
        model = build(self.config, "model", **preprocessor.sizes)
        return build_task(self.config, model, preprocessor, self.facts["targets"])


def build_task(config: Config, model: keras.Model, preprocessor: Preprocessor, targets: dict[str, Any]) -> Task:
    """Build the task of a configuration.

    Args:
        config: a checked configuration.
        model: the model of the task.
        preprocessor: the preprocessor of the model's inputs.
        targets: facts about the targets, see `Target.facts`.
    """
    examples: Examples = build(config, "data", "examples")
    task: Task = build(config, "task", model=model, preprocessor=preprocessor, targets=targets, examples=examples.facts)
    if config.values["model"].get(ADAPTER) is not None:
        with locate_errors(config, "model", ADAPTER):
            _attach_adapter(config, task)
    return task


def _attach_adapter(config: Config, task: Task) -> None:
    """Attach the adapter of the model: only the adapter and the head of the task are trained.

    Raises:
        ConfigError: there are no weights to adapt, or the adapter does not fit the model.
    """
    if not config.published:
        raise ConfigError(
            "an adapter changes pretrained weights, and there are none",
            key="name",
            expected="`model.pretrained`",
            received="weights from scratch",
        )
    if task.encoder_is_frozen:
        raise ConfigError(
            "an adapter trains the encoder, which is frozen",
            key="name",
            expected="`task.encoder: fine_tune`",
            received="frozen",
        )
    adapter: Adapter = build(config, "model", ADAPTER)
    # The pooler of a text is a part of the head: published weights may lack it.
    pooler = [task.model.pooler] if getattr(getattr(task, "backbone", None), "pooling", None) == "pooler" else []
    adapter.attach(task.model, head=pooler)


def check_labels(members: Sequence[Member]) -> None:
    """Check that all members have the same labels: a fold may lack a rare label, and then label ids differ.

    Raises:
        DataError: labels differ; names them.
    """
    labels = [member.facts["targets"].get("labels") for member in members]
    for other in labels[1:]:
        if other != labels[0]:
            raise DataError(
                "the folds have different labels",
                expected=", ".join(labels[0]),
                received=", ".join(other),
                remedy="List all of them as `data.targets.labels`.",
            )
