"""The settings of training: the keys of the `training:` section."""

import math
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, PositiveFloat, PositiveInt

from tfattn.config.relations import NotWith
from tfattn.config.types import Part, Section, Seed
from tfattn.errors import ConfigError, nearest
from tfattn.tasks.task import Task
from tfattn.training.losses import LOSS, loss_metrics
from tfattn.training.optimizers import AdamW
from tfattn.training.schedules import Linear

EPOCHS = 3  # the default length
Decay = Annotated[float, Field(gt=0.0, le=1.0)]


@dataclass(kw_only=True, eq=False)
class TrainingSettings:
    """The settings of a training run. Keys that a pipeline does not set have the recommended value for its model.

    `tfattn show` prints the recommended values; config/recommended_training.py has all of them.

    Args:
        epochs: the number of passes over the training rows; 3 if neither epochs nor steps are given.
        steps: the number of batches, over as many epochs as they take; instead of epochs.
        min_steps: the minimum number of batches: few rows are read in more epochs than `epochs`.
        validate_every: the number of steps between two validations, independent of epochs, with another validation at
            the end of the run. Null validates at the end of each epoch.
        optimizer: updates the weights; AdamW by default.
        schedule: changes the learning rate; by default a linear warm-up over a tenth of the run, then a linear decay.
        accumulation: the number of micro-batches into which each device divides its part of a batch, to save memory;
            the result is that of the whole batch.
        updates_per_batch: the number of consecutive parts of a batch, each with its own update of the weights; for tiny
            updates, such as of word vectors, whose rows are read faster together.
        clip_norm: the maximum global norm of the gradients of a whole batch; null does not clip.
        sparse_embeddings: whether the gradients of embedding tables contain only the rows of the batch. It saves time
            and memory if a batch contains few of the rows, such as one in a hundred. The result is the same with `sgd`
            without momentum and weight decay; with other optimizers, all other rows neither decay nor change by the
            momentum of earlier steps.
        layer_decay: the learning rate of a layer as a fraction of that of the layer above; 1 uses the same rate.
        averaging: an average of the weights over steps or epochs, which evaluation, the best checkpoint and the export
            use; null does not average.
        early_stopping: when to end before the full length; null trains the full length.
        monitor: the validation metric that chooses the best epoch, such as accuracy or loss; the task's by default. Of
            equal epochs, the epoch with the lowest validation loss is best.
        monitor_mode: whether "max" or "min" of the metric is best; known for the task's own metrics and for losses.
        selection: the weights that are kept. "best_epoch" is chosen on the validation rows, whose metrics are then
            biased upwards: evaluate on test rows. With `validate_every` it may be within an epoch. "last_epoch" is the
            end of the run, without a choice, so that the metrics of the validation rows are unbiased.
        steps_per_loop: the maximum number of steps between two updates of progress and checks for signals; a loop ends
            after about a second.
        checkpoint_every: the number of steps between checkpoints; null writes a checkpoint at each validation.
        keep_checkpoints: the number of the newest checkpoints to keep, in addition to the best.
        seed: the seed of weights, the order of rows and dropout; by default the seed of the pipeline.

    Raises:
        ConfigError: both epochs and steps are given.
    """

    epochs: PositiveInt | None = None
    steps: PositiveInt | None = None
    min_steps: Annotated[PositiveInt | None, NotWith("steps")] = None
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
                "both epochs and steps are given",
                key="steps",
                expected="either epochs or steps",
                received="both",
                remedy="Set one of them to null.",
            )
        if self.epochs is None and self.steps is None:
            self.epochs = EPOCHS
        self.optimizer = AdamW() if self.optimizer is None else self.optimizer
        self.schedule = Linear() if self.schedule is None else self.schedule

    @property
    def length(self) -> str:
        """The length of the run, for messages."""
        at_least = f", steps: at least {self.min_steps}" if self.min_steps else ""
        return f"epochs: {self.epochs}{at_least}" if self.steps is None else f"steps: {self.steps}"

    def epochs_of(self, batches: int) -> int | None:
        """Return the number of epochs for a number of batches per epoch; None if the length is a number of steps."""
        return self.epochs and max(self.epochs, math.ceil((self.min_steps or 0) / batches))

    @property
    def copies(self) -> int:
        """The number of values that are kept for each trained weight: weight, gradient, slots and averages."""
        averages = self.averaging.copies if self.averaging else 0
        return 2 + len(self.optimizer.slot_names) + averages

    def multipliers(self, task: Task) -> list[float]:
        """Compute the fraction of the learning rate of each weight: 1 for the top group, less for the groups below."""
        groups = [{id(variable) for variable in group} for group in task.depth_groups()] if self.layer_decay < 1 else []
        top = len(groups) - 1
        fractions = {
            variable: self.layer_decay ** (top - depth) for depth, group in enumerate(groups) for variable in group
        }
        return [fractions.get(id(variable), 1.0) for variable in task.trainable_weights]

    def monitored(self, task: Task) -> tuple[str, str]:
        """Return the monitored metric, and whether "max" or "min" of it is best.

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
