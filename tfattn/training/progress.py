"""What is seen of a run while it trains: a bar on a terminal, a line per epoch everywhere, curves in TensorBoard."""

from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tfattn.console import console, note
from tfattn.training.loop import RECORD

LOSS, RATE, NORM = (RECORD.index(name) for name in ("loss", "learning_rate", "gradient_norm"))


class Display:
    """The bar, the lines and the curves of one run; silent in workers other than the chief.

    Args:
        folder: where TensorBoard's files are written.
        steps: of the whole run.
        epochs: of the whole run.
        visible: False to show and write nothing.
    """

    def __init__(self, folder: Path, *, steps: int, epochs: int, visible: bool):
        self._epochs = epochs
        self._visible = visible
        self._writer = tf.summary.create_file_writer(str(folder)) if visible else tf.summary.create_noop_writer()
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[shown]}"),
            TextColumn("time left"),
            TimeRemainingColumn(),
            console=console,
            disable=not (visible and console.is_terminal),
            transient=True,
        )
        self._line = self._bar.add_task("", total=steps, shown="")

    def __enter__(self) -> "Display":
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()
        self._writer.close()

    def steps(self, epoch: int, last_step: int, records: np.ndarray, speeds: dict[str, float]) -> None:
        """Shows the steps of one call, the last of which was number `last_step` from 1."""
        shown = f"loss {np.nanmean(records[:, LOSS]):.4f}" if np.isfinite(records[:, LOSS]).any() else "loss not finite"
        shown += "".join(f" · {value:,.0f} {_unit(name)}" for name, value in speeds.items() if value)
        self._bar.update(self._line, description=f"epoch {epoch + 1}/{self._epochs}", completed=last_step, shown=shown)
        first_step = last_step - len(records) + 1
        with self._writer.as_default():
            for offset, record in enumerate(records):
                tf.summary.scalar("train/loss", record[LOSS], first_step + offset)
                tf.summary.scalar("train/gradient_norm", record[NORM], first_step + offset)
                tf.summary.scalar("train/learning_rate", record[RATE], first_step + offset)
            for name, value in speeds.items():
                tf.summary.scalar(f"speed/{name}", value, last_step)

    def epoch(self, line: dict[str, Any], *, is_best: bool) -> None:
        """Shows a line of the history."""
        for name, value in line.items():
            if name.startswith("validation_"):
                with self._writer.as_default():
                    tf.summary.scalar(name.replace("_", "/", 1), value, line["step"])
        self._writer.flush()
        if not self._visible:
            return
        parts = [f"loss {line['loss']:.4f}"]
        parts += [f"{name.replace('_', ' ')} {line[name]:.4f}" for name in line if name.startswith("validation_")]
        parts += [f"{line[name]:,.0f} {_unit(name)}" for name in line if name.endswith("_per_second") and line[name]]
        best = " · best" if is_best else ""
        note(f"epoch {line['epoch']}/{self._epochs}: {' · '.join(parts)} · {line['seconds']:.0f} s{best}")


def _unit(name: str) -> str:
    return name.replace("_per_", "/").replace("second", "s")
