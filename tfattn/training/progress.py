"""The progress of a run: a progress bar on terminals, a line per validation, curves in TensorBoard."""

from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn
from rich.table import Column

from tfattn.console import console, note
from tfattn.training.gradients import GRADIENT_NORM
from tfattn.training.loop import StepsTaken

CURVES = ("loss", "gradient_norm", "learning_rate")
POINTS_PER_CALL = 10  # of TensorBoard's curves: writing all points would take longer than fast steps


class Display:
    """The display of a run: progress bar, lines and curves.

    Args:
        folder: the folder of TensorBoard's files; files that start at step `start` or later are removed, because these
            steps are taken again.
        start: the number of steps done before.
        steps: the approximate number of steps of the run.
        epochs: the number of epochs; None if the length is a number of steps.
        by_epoch: whether validations are at the end of epochs; then lines start with the epoch, else with the step.
        monitor: the validation metric in the lines, in addition to losses; TensorBoard has all metrics.
        visible: False, as in workers other than the chief, shows and writes nothing.
    """

    def __init__(
        self, folder: Path, *, start: int, steps: int, epochs: int | None, by_epoch: bool, monitor: str, visible: bool
    ):
        self._steps, self._epochs, self._by_epoch = steps, epochs, by_epoch
        self._shown = dict.fromkeys(("validation_loss", f"validation_{monitor}"))
        self._visible = visible
        self._writer = _writer(folder, start) if visible else tf.summary.create_noop_writer()
        self._bar = Progress(
            SpinnerColumn(),  # moves during compilation and validation, when the bar does not
            TextColumn("{task.description}"),
            BarColumn(bar_width=12),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("left"),
            # On a narrow terminal only this column is cut.
            TextColumn("{task.fields[shown]}", table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis")),
            console=console,
            disable=not (visible and console.is_terminal),
            transient=True,
            expand=True,
        )
        self._line = self._bar.add_task("compiling the first step", total=steps, shown="")

    def __enter__(self) -> "Display":
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()
        self._writer.close()

    def steps(self, epoch: int, taken: StepsTaken, speeds: dict[str, float]) -> None:
        """Show the steps of a call of the loop."""
        losses, last_step = taken.records["loss"], taken.counters.step
        shown = f"loss {np.nanmean(losses):.4f}" if np.isfinite(losses).any() else "loss not finite"
        shown += "".join(f" · {_speed(name, value)}" for name, value in speeds.items() if value)
        self._bar.update(self._line, description=self._epoch(epoch + 1), completed=last_step, shown=shown)
        with self._writer.as_default():
            for index in reversed(range(len(taken) - 1, -1, -max(1, len(taken) // POINTS_PER_CALL))):
                step = last_step - len(taken) + 1 + index
                for name in CURVES:
                    tf.summary.scalar(f"train/{name}", taken.records[name][index], step)
            for name, value in speeds.items():
                tf.summary.scalar(f"speed/{name}", value, last_step)

    def line(self, line: dict[str, Any], *, is_best: bool) -> None:
        """Show a line of the history."""
        for name, value in line.items():
            if name.startswith(("validation_", GRADIENT_NORM)):
                with self._writer.as_default():
                    tf.summary.scalar(name.replace("validation_", "validation/", 1), value, line["step"])
        self._writer.flush()
        if not self._visible:
            return
        parts = [f"loss {line['loss']:.4f}"]
        parts += [f"{name.replace('_', ' ')} {line[name]:.4f}" for name in self._shown if name in line]
        parts += [_speed(name, line[name]) for name in line if name.endswith("_per_second") and line[name]]
        best = " · best" if is_best else ""
        note(f"{self.position(line)}: {' · '.join(parts)} · {line['seconds']:.0f} s{best}")

    def position(self, line: dict[str, Any]) -> str:
        """Describe the position in the run of a line of the history."""
        epoch = self._epoch(line["epoch"])
        if self._by_epoch:
            return epoch
        return f"step {line['step']:,}{'' if self._epochs else f'/{self._steps:,}'} ({epoch})"

    def _epoch(self, number: int) -> str:
        return f"epoch {number}/{self._epochs}" if self._epochs else f"epoch {number}"


def _writer(folder: Path, start: int) -> tf.summary.SummaryWriter:
    """Create a writer of curves that start at a step; the suffix of the file has the step, for later removal."""
    for path in folder.glob("events.out.tfevents.*"):
        first = path.suffix.removeprefix(".from-")
        if first.isdigit() and int(first) >= start:
            path.unlink()
    return tf.summary.create_file_writer(str(folder), filename_suffix=f".from-{start}")


def _speed(name: str, value: float) -> str:
    """Format a speed such as `examples_per_second`; slow speeds keep a significant digit."""
    number = f"{value:,.0f}" if value >= 9.5 else f"{value:.1g}" if value < 0.95 else f"{value:.1f}"
    return f"{number} {name.replace('_per_', '/').replace('second', 's')}"
