"""The error about a non-finite loss or gradient, with the batch saved for inspection."""

from pathlib import Path

import numpy as np

from tfattn import files
from tfattn.data.reader import RECORD_IDS, Reader
from tfattn.errors import TrainingError
from tfattn.tasks.task import Task
from tfattn.training.loop import StepsTaken
from tfattn.training.position import Position

MAX_LISTED = 3  # weights listed in the error


def not_finite_error(
    taken: StepsTaken, position: Position, task: Task, reader: Reader, *, keep: Path | None
) -> TrainingError:
    """Return the error about steps whose last step was fatal, and save the batch of that step.

    Args:
        taken: the steps.
        position: the position after the last step.
        task: the trained task.
        reader: the reader of the batches.
        keep: the .npz file for the batch; None does not save the batch.
    """
    record = {name: values[-1] for name, values in taken.records.items()}
    what = "the loss is not finite"
    if np.isfinite(record["loss"]):
        wrong = np.flatnonzero(~np.isfinite(taken.gradient_norms))
        what = (
            f"the gradients of {', '.join(task.trainable_weights[i].path for i in wrong[:MAX_LISTED])} are not finite"
        )
    if keep:
        _keep(reader, position, keep)
    action = f"The batch is in {keep}: look at its rows, or lower" if keep else "Lower"
    return TrainingError(
        what,
        where=f"step {position.counters.step} (epoch {position.epoch + 1}, batch {position.batch})",
        expected="numbers",
        received=f"loss {record['loss']}, gradient norm {record['gradient_norm']}",
        remedy=f"This update changed no weight. {action} the learning rate.",
    )


def _keep(reader: Reader, position: Position, path: Path) -> None:
    batch = next(iter(reader.dataset(position.epoch, start=position.batch - 1)))
    values = {name: value.numpy() for name, value in batch.items()}
    real = values[RECORD_IDS] >= 0
    with files.atomic_file(path) as temporary, open(temporary, "wb") as file:
        np.savez(file, **{name: value[real] for name, value in values.items()})
