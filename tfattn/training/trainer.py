"""The `training:` section: how a task learns."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, PositiveFloat, PositiveInt

from tfattn.config.types import Part, Section, Seed
from tfattn.data.reader import Reader
from tfattn.errors import ConfigError, nearest
from tfattn.tasks.task import Task
from tfattn.training.averages import Averaging
from tfattn.training.callbacks import EarlyStopping
from tfattn.training.losses import LOSS, loss_metrics
from tfattn.training.optimizers import AdamW
from tfattn.training.runtime import Runtime
from tfattn.training.schedules import Linear
from tfattn.training.session import Session

EPOCHS = 3  # if no length is given
Decay = Annotated[float, Field(gt=0.0, le=1.0)]


class Trainer:
    """Trains a task on one split and, at the end of each epoch or every so many steps, measures it on another.

    The defaults fine-tune an encoder of BERT's kind.

    Args:
        epochs: passes over the training rows; 3 if neither these nor steps are given.
        steps: batches, over all epochs that these make; instead of epochs.
        validate_every: steps between two validations, which need not fall together with the ends of epochs; the end of
            the run is one. Null validates at the end of each epoch.
        optimizer: how gradients change weights; AdamW by default.
        schedule: how the learning rate changes; by default it grows over a tenth of the run, then falls in a line.
        accumulation: micro-batches that each device divides its part of a batch into, to need less memory; the result
            is that of the whole batch.
        clip_norm: the largest norm of all gradients together, measured over the whole batch; null does not clip.
        sparse_embeddings: whether a table that is only looked up in gets gradients of those rows alone. It takes less
            time and memory where a batch looks up few of very many rows, such as one in a hundred. The result is the
            same with `sgd` that has neither momentum nor weight decay; else rows that are not looked up neither decay
            nor move on by what is kept of earlier steps.
        layer_decay: a layer's learning rate is this fraction of that of the layer above it; 1 gives all the same.
        averaging: a mean of the weights, over steps or over epochs, which evaluation, the best checkpoint and the
            export then use; null keeps none.
        early_stopping: when to end before all of it; null never does.
        monitor: the validation metric that chooses the best epoch, such as accuracy or loss; the task's by default. Of
            equal ones that with the lowest validation loss is best.
        monitor_mode: whether "max" or "min" of it is best; known for the task's own and for losses.
        selection: which weights count. "best_epoch" is chosen on the validation rows, whose metrics are then too good:
            measure on test rows. With `validate_every` it need not be the end of an epoch. "last_epoch" is the end of
            the run: it chooses nothing, so that validation rows measure fairly.
        steps_per_loop: the most steps between two looks at progress and signals; about a second's worth are taken.
        checkpoint_every: steps between checkpoints; null writes one at each validation.
        keep_checkpoints: how many of the newest checkpoints are kept, beside the best.
        seed: of weights, the order of rows and dropout; that of the pipeline if not given.

    Raises:
        ConfigError: both epochs and steps are given; early stopping or a mode was asked for with nothing to monitor.

    Example:
        runtime = Runtime().start()
        with runtime.scope():
            task = build_task()
        history = Trainer(epochs=3).train(task, train, validation, folder=folder, runtime=runtime, seed=7)
    """

    def __init__(
        self,
        *,
        epochs: PositiveInt | None = None,
        steps: PositiveInt | None = None,
        validate_every: PositiveInt | None = None,
        optimizer: Part("optimizers") | None = None,
        schedule: Part("schedules") | None = None,
        accumulation: PositiveInt = 1,
        clip_norm: PositiveFloat | None = 1.0,
        sparse_embeddings: bool = False,
        layer_decay: Decay = 1.0,
        averaging: Part("averages") | None = None,
        early_stopping: Section("early_stopping") | None = None,
        monitor: str | None = None,
        monitor_mode: Literal["max", "min"] | None = None,
        selection: Literal["best_epoch", "last_epoch"] = "best_epoch",
        steps_per_loop: PositiveInt = 100,
        checkpoint_every: PositiveInt | None = None,
        keep_checkpoints: PositiveInt = 2,
        seed: Seed | None = None,
    ):
        if epochs is not None and steps is not None:
            raise ConfigError(
                "the length of the run is not clear",
                key="steps",
                expected="either epochs or steps",
                received="both",
                remedy="Set the one that is not meant to null.",
            )
        self.epochs = EPOCHS if epochs is None and steps is None else epochs
        self.steps = steps
        self.validate_every = validate_every
        self.optimizer = AdamW() if optimizer is None else optimizer
        self.schedule = Linear() if schedule is None else schedule
        self.accumulation = accumulation
        self.clip_norm = clip_norm
        self.sparse_embeddings = sparse_embeddings
        self.layer_decay = layer_decay
        self.averaging: Averaging | None = averaging
        self.early_stopping: EarlyStopping | None = early_stopping
        self.monitor = monitor
        self.monitor_mode = monitor_mode
        self.selection = selection
        self.steps_per_loop = steps_per_loop
        self.checkpoint_every = checkpoint_every
        self.keep_checkpoints = keep_checkpoints
        self.seed = seed

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
        """Trains from the last checkpoint in `folder`, or from the beginning, and leaves the best weights in the task.

        Args:
            task: built in the scope of `runtime`.
            train: the rows to learn from.
            validation: the rows to measure on, or None: then the end of the run counts as the best.
            folder: the run's; checkpoints/, history.jsonl and tensorboard/ are written there.
            runtime: started.
            seed: of dropout.
            fingerprint: says what data and settings the run is made of; a checkpoint with another one is refused.

        Returns:
            the history, one dictionary per validation: epoch (from 1) and step at which it was made; loss since the
            last one, and of several terms each, such as `loss/masked_lm`; the validation metrics, each as
            `validation_<name>`; learning_rate, examples_per_second, tokens_per_second, seconds.

        Raises:
            TrainingError: a loss or gradient is not finite, or a worker was lost.
            CheckpointError: a checkpoint does not fit.
            ConfigError: the task has no metric of the monitor's name.
            Stopped: SIGTERM or SIGINT came; a checkpoint was written before.
        """
        if self.early_stopping and validation is None:
            raise ConfigError(
                "early stopping has nothing to look at",
                key="early_stopping",
                expected="validation rows",
                received="none",
                remedy="Set `split.validation`, or leave early_stopping out.",
            )
        session = Session(self, task, train, validation, Path(folder), runtime, seed=seed, fingerprint=fingerprint)
        return session.run()

    @property
    def length(self) -> str:
        """How long a run is, in words."""
        return f"epochs: {self.epochs}" if self.steps is None else f"steps: {self.steps}"

    @property
    def copies(self) -> int:
        """How many numbers are kept for each trained weight: itself, its gradient, the optimizer's, averages."""
        averages = self.averaging.copies if self.averaging else 0
        return 2 + len(self.optimizer.slot_names) + averages

    def multipliers(self, task: Task) -> list[float]:
        """The fraction of the learning rate of each trainable weight: 1 for the topmost group, less for those below."""
        groups = [{id(variable) for variable in group} for group in task.depth_groups()] if self.layer_decay < 1 else []
        top = len(groups) - 1
        fractions = {place: self.layer_decay ** (top - depth) for depth, group in enumerate(groups) for place in group}
        return [fractions.get(id(variable), 1.0) for variable in task.trainable_weights]

    def monitored(self, task: Task) -> tuple[str, str]:
        """The metric by which validations are compared, and whether "max" or "min" of it is best.

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
