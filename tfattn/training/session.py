"""A training session: a run from its last checkpoint to its end.

A validation follows each epoch, or every so many steps. All decisions depend on the history alone, and checkpoints
contain the complete state: a run that was killed at any moment resumes with the same result.
"""

import math
import resource
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tfattn.console import note
from tfattn.data.reader import Reader
from tfattn.tasks.task import Task
from tfattn.training.callbacks import best_of
from tfattn.training.checkpoints import load_weights
from tfattn.training.gradients import norms_by_layer
from tfattn.training.interruption import Interruption, Stopped
from tfattn.training.loop import TrainingLoop
from tfattn.training.losses import loss_metrics, mean_losses
from tfattn.training.not_finite import not_finite_error
from tfattn.training.optimizers import decays
from tfattn.training.outcome import outcome_warnings
from tfattn.training.position import Identity, Totals
from tfattn.training.prediction import Evaluator
from tfattn.training.progress import Display
from tfattn.training.runtime import Runtime
from tfattn.training.saved_run import SavedRun, checkpoint_tensors
from tfattn.training.settings import TrainingSettings
from tfattn.training.step import TrainingStep
from tfattn.training.variables import changing, frozen

WARM_UP_STEPS = 2  # which trace the graph and compile kernels
TIMED_SECONDS = 15.0
VALIDATION_BATCHES = 50  # which are timed, at most


@dataclass(frozen=True)
class Timing:
    """The measured costs of a session.

    Attributes:
        warm_up_seconds: the time of the first steps and of the first validation, in addition to their usual time.
        step_seconds: the mean time of a step.
        timed_steps: the number of steps that were timed.
        validation_seconds: the time of a validation.
        checkpoint_seconds, checkpoint_bytes: the time and the size of a checkpoint.
        peak_bytes: the highest memory of this process.
    """

    warm_up_seconds: float
    step_seconds: float
    timed_steps: int
    validation_seconds: float
    checkpoint_seconds: float
    checkpoint_bytes: int
    peak_bytes: int


class _Clock:
    """A clock that measures consecutive intervals."""

    def __init__(self) -> None:
        self._last = time.perf_counter()

    def lap(self) -> float:
        """Return the seconds since the last call."""
        last, self._last = self._last, time.perf_counter()
        return self._last - last


class Session:
    """A run from its last checkpoint to its end; see `Trainer.train` for the arguments."""

    def __init__(
        self,
        settings: TrainingSettings,
        task: Task,
        train: Reader,
        validation: Reader | None,
        folder: Path,
        runtime: Runtime,
        *,
        seed: int,
        fingerprint: str,
    ):
        self.settings = settings
        self.task = task
        self.train = train
        self.validation = validation
        self.folder = folder
        self.runtime = runtime
        # Approximate, because the number of batches varies between epochs; only the schedule depends on it.
        self.epochs = settings.epochs_of(train.num_batches(0))
        self.total_steps = settings.steps or self.epochs * train.num_batches(0)
        self.monitor, self.mode = settings.monitored(task)
        weights = [variable.value for variable in task.trainable_weights]
        maps = [getattr(variable, "maps", ()) for variable in task.trainable_weights]
        with runtime.scope():
            decaying = [decays(variable) for variable in task.trainable_weights]
            settings.optimizer.build(weights, settings.multipliers(task), maps, decaying)
            if settings.averaging:
                settings.averaging.build([*changing(task).values()])
        self.step = TrainingStep(
            task,
            settings.optimizer,
            runtime,
            schedule=settings.schedule,
            averaging=settings.averaging,
            total_steps=self.total_steps,
            accumulation=settings.accumulation,
            updates=settings.updates_per_batch,
            clip_norm=settings.clip_norm,
            sparse_embeddings=settings.sparse_embeddings,
            masks=train.masks,
            seed=seed,
            batch_rows=train.max_rows,
        )
        self.loop = TrainingLoop(self.step, runtime)
        self.evaluator = Evaluator(task, runtime)
        self.saved = SavedRun(
            folder,
            tensors=checkpoint_tensors(task, settings.optimizer, settings.averaging),
            identity=Identity(seed=seed, fingerprint=fingerprint),
            keep=settings.keep_checkpoints,
            runtime=runtime,
        )
        self.batches: Any = None  # the remaining batches of the current epoch

    def run(self, on_validation: Callable[[list[dict[str, Any]]], None]) -> list[dict[str, Any]]:
        """Train to the end and return the history; `on_validation` is called with the history so far."""
        with Interruption() as interruption, self.runtime.report_lost_workers():
            self.saved.checkpoints.save_frozen(frozen(self.task))
            self.position = self.saved.resume(self.total_steps)
            with self._display() as display:
                on_validation(self.position.history)
                while not self.position.finished:
                    while not self._validation_is_due():
                        self._take_steps(display, interruption)
                    self._validate(display)
                    on_validation(self.position.history)
                    self._show_outcome()
            self.runtime.agree(self.position.counters.step)  # workers wait until the chief has written
        load_weights(self.task, self.saved.checkpoints.folder)
        if interruption.signal:
            raise Stopped(interruption.status)
        return self.position.history

    def measure(self) -> Timing:
        """Take steps for about `TIMED_SECONDS`, validate, write a checkpoint, and return the costs of each.

        The steps change the weights and write into the folder: train with another session.
        """
        clock = _Clock()
        self.position = self.saved.resume(self.total_steps)
        with Interruption() as interruption, self.runtime.report_lost_workers(), self._display() as display:
            while self.position.counters.step < WARM_UP_STEPS:
                self._take_steps(display, interruption)
            warm_up_steps, warm_up_seconds = self.position.counters.step, clock.lap()
            timed_seconds = 0.0
            while not timed_seconds or timed_seconds < TIMED_SECONDS and self.position.counters.step < self.total_steps:
                self._take_steps(display, interruption)
                timed_seconds += clock.lap()
            timed_steps = self.position.counters.step - warm_up_steps
            step_seconds = timed_seconds / timed_steps
            validation_seconds, first_seconds = 0.0, 0.0
            if self.validation is not None:
                total = self.validation.num_batches(0)
                read = min(total, VALIDATION_BATCHES)
                self.evaluator(self.validation, max_batches=1)
                first_seconds = clock.lap()
                self.evaluator(self.validation, max_batches=read)
                validation_seconds = clock.lap() * total / read
            self._save()
        return Timing(
            warm_up_seconds=max(0.0, warm_up_seconds - warm_up_steps * step_seconds) + first_seconds,
            step_seconds=step_seconds,
            timed_steps=timed_steps,
            validation_seconds=validation_seconds,
            checkpoint_seconds=clock.lap(),
            checkpoint_bytes=sum(file.stat().st_size for file in self.saved.checkpoints.newest().folder.iterdir()),
            peak_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10,
        )

    def _display(self) -> Display:
        return Display(
            self.folder / "tensorboard",
            start=self.position.counters.step,
            steps=self.total_steps,
            epochs=self.epochs,
            by_epoch=self.epochs is not None and self.settings.validate_every is None,
            monitor=self.monitor,
            visible=self.runtime.is_chief and not self.position.finished,
        )

    def _is_over(self) -> bool:
        """Return whether the run has its configured length."""
        if self.settings.steps:
            return self.position.counters.step >= self.settings.steps
        return self.position.epoch >= self.epochs

    def _validation_is_due(self) -> bool:
        position, every = self.position, self.settings.validate_every
        step = position.counters.step
        if step == (position.history[-1]["step"] if position.history else 0):
            return False  # already validated at this step, or no step was taken
        return self._is_over() or (step % every == 0 if every else position.batch == 0)

    def _take_steps(self, display: Display, interruption: Interruption) -> None:
        """Take steps until the end of the epoch or run, the next checkpoint or the next validation, at most."""
        position, settings = self.position, self.settings
        step, remaining = position.counters.step, self.train.num_batches(position.epoch) - position.batch
        if self.batches is None:
            data = self.runtime.read(
                self.train,
                position.epoch,
                start=position.batch,
                accumulation=settings.accumulation,
                updates=settings.updates_per_batch,
            )
            self.batches = iter(data)
        stops = [every - step % every for every in (settings.checkpoint_every, settings.validate_every) if every]
        stops += [settings.steps - step] if settings.steps else []
        start = time.perf_counter()
        limit = min(settings.steps_per_loop, remaining, *stops)
        taken = self.loop(self.batches, position.counters, limit=limit, stop=bool(interruption.signal))
        position.totals.add(taken, time.perf_counter() - start)
        position.totals.gradient_norms = norms_by_layer(self.task.trainable_weights, taken.gradient_norms)
        position.batch += len(taken)
        position.counters = taken.counters
        display.steps(position.epoch, taken, position.totals.speeds)
        if taken.fatal:
            file = self.folder / "not_finite_batch.npz" if self.runtime.is_chief else None
            raise not_finite_error(taken, position, self.task, self.train, keep=file)
        if len(taken) == remaining:
            position.epoch, position.batch, self.batches = position.epoch + 1, 0, None
        # A single process stops at once; several processes have to stop at the same step.
        if taken.stopped or self.runtime.num_workers == 1 and interruption.signal:
            self._save()
            self._stop(interruption)
        every = settings.checkpoint_every
        if every and position.counters.step % every == 0 and not self._validation_is_due():
            self._save()

    def _validate(self, display: Display) -> None:
        """Validate, add a line to the history, save a checkpoint, and decide whether the run ends."""
        position, averaging = self.position, self.settings.averaging
        if averaging:
            averaging.on_interval_end(len(position.history))
        line = {
            "epoch": position.epoch + (position.batch > 0),
            "step": position.counters.step,
            **self._losses(),
            **self._validation_metrics(),
            "learning_rate": self.step.learning_rate(position.counters.step - 1),
            **position.totals.gradient_norms,
            **position.totals.speeds,
            "seconds": position.totals.seconds,
        }
        position.history.append(line)
        position.totals = Totals()
        stops_early = self._stops_early() and not self._is_over()
        position.finished = self._is_over() or stops_early
        self._save()
        self.saved.write_history(position.history)
        display.line(line, is_best=self._best() is line)
        if stops_early and self.runtime.is_chief:
            note(f"{self.monitor} no longer improves: training ends after {display.position(line)}")

    def _show_outcome(self) -> None:
        if self.position.finished and self.runtime.is_chief:
            for warning in outcome_warnings(self.position.history, self.settings, monitor=self.monitor, mode=self.mode):
                note(f"note: {warning}")

    def _losses(self) -> dict[str, float]:
        totals = self.position.totals
        if not totals.weights:  # all steps were non-finite
            return dict.fromkeys(loss_metrics(self.task.loss_names), math.nan)
        return mean_losses(totals.losses, totals.weights)

    def _validation_metrics(self) -> dict[str, float]:
        if self.validation is None:
            return {}
        averaging = self.settings.averaging
        with averaging.in_place() if averaging else nullcontext():
            metrics = self.evaluator(self.validation)
        return {f"validation_{name}": value for name, value in metrics.items()}

    def _validated(self, name: str) -> list[float]:
        return [line[f"validation_{name}"] for line in self.position.history]

    def _best(self) -> dict[str, Any] | None:
        """Return the line of the history with the best weights; None if the last weights count."""
        if not self.position.history or self.validation is None or self.settings.selection == "last_epoch":
            return None
        return self.position.history[best_of(self._validated(self.monitor), self._validated("loss"), self.mode)]

    def _stops_early(self) -> bool:
        stopping = self.settings.early_stopping
        return stopping is not None and stopping.stops(self._validated(self.monitor), self.mode)

    def _save(self) -> None:
        best = self._best()
        best = best and {"epoch": best["epoch"], "step": best["step"], "value": best[f"validation_{self.monitor}"]}
        self.saved.save(self.position, monitor=self.monitor, best=best)

    def _stop(self, interruption: Interruption) -> None:
        self.runtime.agree(self.position.counters.step)  # workers wait until the chief has written
        if self.runtime.is_chief:
            note(f"stopped on request at step {self.position.counters.step}; the same command resumes from there")
        raise Stopped(interruption.status)
