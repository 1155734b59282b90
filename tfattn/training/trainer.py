"""The `training:` section."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, PositiveFloat, PositiveInt

from tfattn.config.types import Part, Section, Seed
from tfattn.data.reader import Reader
from tfattn.errors import ConfigError, nearest
from tfattn.tasks.task import Task
from tfattn.training.losses import LOSS, loss_metrics
from tfattn.training.optimizers import AdamW
from tfattn.training.runtime import Runtime
from tfattn.training.schedules import Linear
from tfattn.training.session import Session

EPOCHS = 3  # if no length is given
Decay = Annotated[float, Field(gt=0.0, le=1.0)]


@dataclass(kw_only=True, eq=False)
class Trainer:
    """Trains a task on one split and, at the end of each epoch or every so many steps, validates it on another.

    The defaults are for fine-tuning an encoder such as BERT.

    Args:
        epochs: the number of passes over the training rows; 3 if neither epochs nor steps are given.
        steps: the number of batches, over as many epochs as they take; instead of epochs.
        validate_every: the number of steps between two validations, which need not be at the ends of epochs; there is
            one at the end of the run too. Null validates at the end of each epoch.
        optimizer: changes weights by gradients; AdamW by default.
        schedule: changes the learning rate; by default it grows over a tenth of the run, then falls linearly.
        accumulation: the number of micro-batches into which each device divides its part of a batch, to need less
            memory; the result is that of the whole batch.
        updates_per_batch: the number of consecutive parts of a batch, each of which changes the weights by itself; for
            tiny updates, such as of word vectors, whose rows are read faster together.
        clip_norm: the largest global norm of the gradients of a whole batch; null does not clip.
        sparse_embeddings: whether a table that is only used for look-ups gets gradients of the looked-up rows alone. It
            takes less time and memory where a batch looks up few of very many rows, such as one in a hundred. The
            result is the same with `sgd` without momentum and weight decay; with others, rows that are not looked up
            neither decay nor change by the momentum of earlier steps.
        layer_decay: a layer's learning rate is this fraction of that of the layer above it; 1 gives all the same.
        averaging: an average of the weights, over steps or over epochs, which evaluation, the best checkpoint and the
            export then use; null averages nothing.
        early_stopping: when to end before the full length; null never does.
        monitor: the validation metric that chooses the best epoch, such as accuracy or loss; the task's by default. Of
            equal ones that with the lowest validation loss is best.
        monitor_mode: whether "max" or "min" of it is best; known for the task's own metrics and for losses.
        selection: the weights that are kept. "best_epoch" is chosen on the validation rows, whose metrics are then too
            good: evaluate on test rows. With `validate_every` it need not be the end of an epoch. "last_epoch" is the
            end of the run: it chooses nothing, so that the metrics of the validation rows are unbiased.
        steps_per_loop: the most steps between two updates of progress and checks for signals; steps of about a second
            are taken.
        checkpoint_every: the number of steps between checkpoints; null writes one at each validation.
        keep_checkpoints: the number of the newest checkpoints that are kept, beside the best.
        seed: of weights, the order of rows and dropout; that of the pipeline if not given.

    Raises:
        ConfigError: both epochs and steps are given.

    Example:
        runtime = Runtime().start()
        with runtime.scope():
            task = build_task()
        history = Trainer(epochs=3).train(task, train, validation, folder=folder, runtime=runtime, seed=7)
    """

    epochs: PositiveInt | None = None
    steps: PositiveInt | None = None
    validate_every: PositiveInt | None = None
    optimizer: Part("optimizers") | None = None
    schedule: Part("schedules") | None = None
    accumulation: PositiveInt = 1
    updates_per_batch: PositiveInt = 1
    clip_norm: PositiveFloat | None = 1.0
    sparse_embeddings: bool = False
    layer_decay: Decay = 1.0
    averaging: Part("averages") | None = None
    early_stopping: Section("early_stopping") | None = None
    monitor: str | None = None
    monitor_mode: Literal["max", "min"] | None = None
    selection: Literal["best_epoch", "last_epoch"] = "best_epoch"
    steps_per_loop: PositiveInt = 100
    checkpoint_every: PositiveInt | None = None
    keep_checkpoints: PositiveInt = 2
    seed: Seed | None = None

    def __post_init__(self):
        if self.epochs is not None and self.steps is not None:
            raise ConfigError(
                "the length of the run is not clear",
                key="steps",
                expected="either epochs or steps",
                received="both",
                remedy="Set the one that is not meant to null.",
            )
        if self.epochs is None and self.steps is None:
            self.epochs = EPOCHS
        self.optimizer = AdamW() if self.optimizer is None else self.optimizer
        self.schedule = Linear() if self.schedule is None else self.schedule

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
    ) -> list[dict[str, Any]]:
        """Train from the last checkpoint in `folder`, or from the beginning, and leave the best weights in the task.

        Args:
            task: built in the scope of `runtime`.
            train: reads the training rows.
            validation: reads the validation rows, or None: then the end of the run counts as the best.
            folder: the run's; checkpoints/, history.jsonl and tensorboard/ are written there.
            runtime: started.
            seed: of dropout.
            fingerprint: of the run's data and settings; a checkpoint with another one is refused.

        Returns:
            the history, one dictionary per validation: its epoch (from 1) and step; the loss since the last one, and
            each of several terms, such as `loss/masked_lm`; the validation metrics, each as
            `validation_<name>`; learning_rate, examples_per_second, tokens_per_second, seconds.

        Raises:
            TrainingError: a loss or gradient is not finite, or a worker was lost.
            CheckpointError: a checkpoint does not fit.
            ConfigError: the task has no metric of the monitor's name, or early stopping has no validation rows.
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
        return session.run()

    @property
    def length(self) -> str:
        """The length of the run, in words."""
        return f"epochs: {self.epochs}" if self.steps is None else f"steps: {self.steps}"

    @property
    def copies(self) -> int:
        """The number of values that are kept for each trained weight: itself, its gradient, slots and averages."""
        averages = self.averaging.copies if self.averaging else 0
        return 2 + len(self.optimizer.slot_names) + averages

    def multipliers(self, task: Task) -> list[float]:
        """Compute the fraction of the learning rate of each weight: 1 for the top group, less for those below."""
        groups = [{id(variable) for variable in group} for group in task.depth_groups()] if self.layer_decay < 1 else []
        top = len(groups) - 1
        fractions = {place: self.layer_decay ** (top - depth) for depth, group in enumerate(groups) for place in group}
        return [fractions.get(id(variable), 1.0) for variable in task.trainable_weights]

    def monitored(self, task: Task) -> tuple[str, str]:
        """Return the metric by which validations are compared, and whether "max" or "min" of it is best.

        Raises:
            ConfigError: the task has no such metric.
        """
        name, known = self.monitor or task.monitor, (*loss_metrics(task.loss_names), *task.metric_names)
        if name not in known:
            raise ConfigError(
                "the task has no such metric",
                key="monitor",
                expected=f"one of {', '.join(known)}",
                received=name,
                remedy=nearest(name, known),
            )
        mode = task.monitor_mode if name == task.monitor else "min" if name.startswith(LOSS) else "max"
        return name, self.monitor_mode or mode
