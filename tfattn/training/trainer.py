"""The trainer: trains a task with the settings of the `training:` section."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tfattn.data.reader import Reader
from tfattn.errors import ConfigError
from tfattn.tasks.task import Task
from tfattn.training.runtime import Runtime
from tfattn.training.session import Session
from tfattn.training.settings import TrainingSettings


@dataclass(kw_only=True, eq=False)
class Trainer(TrainingSettings):
    """A trainer of a task on a split, with validation on another split after each epoch or every so many steps.

    Example:
        runtime = Runtime().start()
        with runtime.scope():
            task = build_task()
        history = Trainer(epochs=3).train(task, train, validation, folder=folder, runtime=runtime, seed=7)
    """

    def train(
        self,
        task: Task,
        train: Reader,
        validation: Reader | None,
        *,
        folder: str | Path,
        runtime: Runtime,
        seed: int,
        fingerprint: str = "",
        on_validation: Callable[[list[dict[str, Any]]], None] | None = None,
    ) -> list[dict[str, Any]]:
        """Train from the last checkpoint in `folder`, or from the start, and restore the best weights of the task.

        Args:
            task: built in the scope of `runtime`.
            train: the reader of the training rows.
            validation: the reader of the validation rows, or None: then the weights at the end are the best.
            folder: the run's folder, for checkpoints/, history.jsonl and tensorboard/.
            runtime: a started runtime.
            seed: the seed of dropout.
            fingerprint: identifies the run's data and settings; a checkpoint with another fingerprint is refused.
            on_validation: is called with the history at the start and after each validation.

        Returns:
            the history, a dictionary per validation: epoch (from 1), step, the training loss since the last validation
            and each of several terms, such as `loss/masked_lm`, validation metrics as `validation_<name>`,
            learning_rate, examples_per_second, tokens_per_second, seconds.

        Raises:
            TrainingError: a loss or gradient is not finite, or a worker was lost.
            CheckpointError: a checkpoint does not fit the model.
            ConfigError: the task does not have the monitored metric, or early stopping has no validation rows.
            Stopped: SIGTERM or SIGINT was received; a checkpoint has been written.
        """
        if self.early_stopping and validation is None:
            raise ConfigError(
                "early stopping has nothing to monitor",
                key="early_stopping",
                expected="validation rows",
                received="none",
                remedy="Set `split.validation`, or remove early_stopping.",
            )
        session = Session(self, task, train, validation, Path(folder), runtime, seed=seed, fingerprint=fingerprint)
        return session.run(on_validation or (lambda history: None))
