"""One model of a run: its configuration, its prepared data and the folder of its weights."""

import contextlib
import functools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import keras

from tfattn import files
from tfattn.config.build import build
from tfattn.config.schema import Config
from tfattn.data.augmentation import Augmentation
from tfattn.data.examples import Examples
from tfattn.data.prepare import Facts, read_facts
from tfattn.data.raw_rows import read_rows
from tfattn.data.reader import Reader
from tfattn.data.records import PREPARE_AGAIN
from tfattn.data.split_config import TRAIN
from tfattn.data.transforms import FromRecords, Transform
from tfattn.errors import DataError
from tfattn.preprocessing.preprocessor import Preprocessor
from tfattn.runs.ensemble import training_seed
from tfattn.runs.stage_log import StageLog, announce
from tfattn.tasks.task import Task
from tfattn.training.trainer import Trainer


class Member:
    """One model of a run; an ensemble has several.

    Args:
        config: of this model alone.
        prepared: the folder of the prepared data.
        stage_log: of the folder of its training.

    Attributes:
        folder: of its training, with its checkpoints.
        id: the identity of the data and settings that it is trained with.
        seed: of the data.
        training_seed: of weights, the order of rows and dropout.
    """

    def __init__(self, config: Config, *, prepared: Path, stage_log: StageLog):
        self.config = config
        self.prepared = prepared
        self.stage_log = stage_log
        self.id = stage_log.made_of
        self.folder = stage_log.folder
        self.seed: int = config.values["seed"]
        self.training_seed = training_seed(config)

    @contextlib.contextmanager
    def preparation(self, *, force: bool) -> Iterator[bool]:
        """Yield whether the data have to be prepared; wait for another process that is preparing them."""
        with files.lock(self.prepared.with_name(f".{self.prepared.name}.lock"), wait=True):
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
        """The facts that `prepare` has written about the data."""
        return read_facts(self.prepared)

    def rows(self, split: str) -> list[dict[str, str]]:
        """Read the raw rows of a split, in the order of its records."""
        return read_rows(self.prepared, split)

    def reader(self, split: str, *, folder: Path | None = None) -> Reader:
        """Make the reader of a split's records, which shuffles those of training in each epoch.

        Args:
            split: its name.
            folder: of the records; the prepared data by default.
        """
        is_training = split == TRAIN
        return Reader(
            folder or self.prepared,
            split,
            batching=build(self.config, "data", "batching"),
            seed=self.training_seed,
            shuffle=is_training,
            transforms=self._transforms(is_training) if folder in (None, self.prepared) else (),
        )

    def preprocessor(self) -> Preprocessor:
        """Build the preprocessor, as `prepare` has fitted it.

        It is built for each use: SentencePiece's tables do not survive `tf.random.set_seed`, which clears kernels.
        """
        preprocessor: Preprocessor = build(self.config, "data", "preprocessing")
        files.verify(self.prepared, "preprocessing/*", remedy=PREPARE_AGAIN)
        preprocessor.load(self.prepared / "preprocessing")
        return preprocessor

    def _transforms(self, is_training: bool) -> Sequence[Transform]:
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
        """Build the model, untrained, of the sizes that the data need, and the task on it.

        Args:
            preprocessor: as it was fitted.
        """
        model = build(self.config, "model", **preprocessor.sizes)
        return build_task(self.config, model, preprocessor, self.facts["targets"])


def build_task(config: Config, model: keras.Model, preprocessor: Preprocessor, targets: dict[str, Any]) -> Task:
    """Build the task of a configuration on its model.

    Args:
        config: a checked configuration.
        model: its model.
        preprocessor: what the model reads.
        targets: what is known of the targets, see `Target.facts`.
    """
    return build(config, "task", model=model, preprocessor=preprocessor, targets=targets)


def check_labels(members: Sequence[Member]) -> None:
    """Refuse members whose labels differ: a fold may lack a rare one, and then the others' ids mean something else.

    Raises:
        DataError: names the labels.
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
