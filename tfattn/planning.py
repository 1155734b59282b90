"""The plan of a training: parameters, memory, time and disk space, from a few timed steps."""

import math
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from rich.filesize import decimal

from tfattn import console, stages
from tfattn.checks import check_prepared
from tfattn.errors import ConfigError
from tfattn.runs.run import Run
from tfattn.training.memory import available
from tfattn.training.session import Session, Timing

EXPORT_COPIES = 1.2  # bytes of an export by bytes of its float32 weights


@dataclass(frozen=True)
class Plan:
    """The expected costs of the training of a run.

    Attributes:
        parameters, trained: the number of weights, and of weights that are trained.
        models: the number of models of the ensemble.
        steps, validations: their number in the training of a model.
        epoch_steps: the number of steps in an epoch.
        start_seconds: the time until the first step, of building the model and reading its initial weights.
        timing: the measured costs of a training.
        prepared_bytes: the size of the prepared data.
        checkpoints: the number of checkpoints of a model that are kept.
    """

    parameters: int
    trained: int
    models: int
    steps: int
    validations: int
    epoch_steps: int
    start_seconds: float
    timing: Timing
    prepared_bytes: int
    checkpoints: int

    @property
    def epoch_seconds(self) -> float:
        """The time of an epoch, with a validation and a checkpoint."""
        timing = self.timing
        return self.epoch_steps * timing.step_seconds + timing.validation_seconds + timing.checkpoint_seconds

    @property
    def train_seconds(self) -> float:
        """The time of the stage `train`, of all models."""
        timing = self.timing
        validation = timing.validation_seconds + timing.checkpoint_seconds
        steps = self.steps * timing.step_seconds
        return self.models * (self.start_seconds + timing.warm_up_seconds + steps + self.validations * validation)

    @property
    def disk_bytes(self) -> int:
        """The size of prepared data, checkpoints and export."""
        checkpoints = self.checkpoints * self.timing.checkpoint_bytes
        return int(self.prepared_bytes + self.models * (checkpoints + EXPORT_COPIES * 4 * self.parameters))

    def rows(self) -> list[tuple[str, str]]:
        """Return the plan as rows of a table."""
        timing = self.timing
        models = f", {self.models} models" if self.models > 1 else ""
        return [
            ("parameters", f"{self.parameters:,} ({self.trained:,} trained){models}"),
            ("memory", f"{decimal(timing.peak_bytes)} of {decimal(available())}"),
            ("step", f"{timing.step_seconds:.3f} s, mean of {timing.timed_steps:,} steps"),
            ("epoch", f"{duration(self.epoch_seconds)}: {self.epoch_steps:,} steps, validation and checkpoint"),
            (
                "training",
                f"{duration(self.train_seconds)}: {self.steps:,} steps, {self.validations:,} validations{models}",
            ),
            ("disk", f"{decimal(self.disk_bytes)}: prepared data, checkpoints and export"),
        ]


def plan(run: Run) -> Plan:
    """Prepare the data, time a few training steps in a temporary folder, and compute the costs of the training.

    Args:
        run: the run.

    Returns:
        the plan of the first model of the run, for all models.

    Raises:
        ConfigError: the weights do not fit into memory, or the results do not fit on the disk.
    """
    stages.prepare(run)
    check_prepared(run.members)
    member, started = run.members[0], time.perf_counter()
    task, train, validation = stages.training_parts(member, run.runtime)
    with tempfile.TemporaryDirectory(prefix="tfattn-plan-") as folder:
        session = Session(
            member.trainer,
            task,
            train,
            validation,
            Path(folder),
            run.runtime,
            seed=member.training_seed,
            fingerprint=member.id,
        )
        start_seconds = time.perf_counter() - started
        timing = session.measure()
    settings, epoch_steps = session.settings, train.num_batches(0)
    planned = Plan(
        parameters=_count(task.weights),
        trained=_count(task.trainable_weights),
        models=len(run.members),
        steps=session.total_steps,
        validations=math.ceil(session.total_steps / (settings.validate_every or epoch_steps)),
        epoch_steps=epoch_steps,
        start_seconds=start_seconds,
        timing=timing,
        prepared_bytes=sum(file.stat().st_size for file in member.prepared.rglob("*") if file.is_file()),
        checkpoints=settings.keep_checkpoints + 1,
    )
    _check_disk(planned, run)
    return planned


def show(run: Run) -> None:
    """Print the plan of a run."""
    console.table(f"Plan of {run.name}", ["", "expected"], plan(run).rows())


def duration(seconds: float) -> str:
    """Write a time in seconds, minutes or hours.

    Example:
        >>> duration(5400)
        '1.5 h'
    """
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} s"


def _check_disk(planned: Plan, run: Run) -> None:
    root = Path(run.config.values["runs_folder"])
    free = shutil.disk_usage(root).free
    needed = planned.disk_bytes - planned.prepared_bytes  # which are there already
    if needed > free:
        raise ConfigError(
            "the run does not fit on the disk",
            where=f"{run.config.origins['runs_folder',]}: runs_folder",
            expected=f"{decimal(needed)} of free space in {root}",
            received=decimal(free),
            remedy="Choose a `runs_folder` on another disk, or lower `training.keep_checkpoints`.",
        )


def _count(variables: list) -> int:
    return sum(math.prod(variable.shape) for variable in variables)
