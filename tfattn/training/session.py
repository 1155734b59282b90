"""One run of a trainer, from wherever it left off to its end."""

import dataclasses
import json
import math
import time
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from tfattn import files
from tfattn.console import note
from tfattn.data.reader import Reader
from tfattn.errors import CheckpointError
from tfattn.tasks.task import Task
from tfattn.training import checkpoints
from tfattn.training.callbacks import best_epoch
from tfattn.training.interruption import Interruption, Stopped
from tfattn.training.loop import TrainingLoop
from tfattn.training.losses import loss_metrics, mean_losses
from tfattn.training.not_finite import not_finite
from tfattn.training.position import Identity, Position, Totals
from tfattn.training.prediction import Predictor
from tfattn.training.progress import Display
from tfattn.training.runtime import Runtime
from tfattn.training.step import TrainingStep

if TYPE_CHECKING:
    from tfattn.training.trainer import Trainer


class Session:
    """Everything that one run needs, made once; `run` is the whole of it."""

    def __init__(
        self,
        trainer: "Trainer",
        task: Task,
        train: Reader,
        validation: Reader | None,
        folder: Path,
        runtime: Runtime,
        *,
        seed: int,
        fingerprint: str,
    ):
        self.trainer = trainer
        self.task = task
        self.train = train
        self.validation = validation
        self.folder = folder
        self.runtime = runtime
        self.identity = Identity(seed=seed, fingerprint=fingerprint)
        self.total_steps = sum(train.num_batches(epoch) for epoch in range(trainer.epochs))
        self.monitor, self.mode = trainer.monitored(task)
        weights = [variable.value for variable in task.trainable_weights]
        with runtime.scope():
            trainer.optimizer.build(weights, trainer.multipliers(task))
            if trainer.averaging:
                trainer.averaging.build(weights)
        self.step = TrainingStep(
            task,
            trainer.optimizer,
            runtime,
            schedule=trainer.schedule,
            averaging=trainer.averaging,
            total_steps=self.total_steps,
            accumulation=trainer.accumulation,
            clip_norm=trainer.clip_norm,
            sparse_embeddings=trainer.sparse_embeddings,
            masks=train.masks,
            seed=seed,
        )
        self.loop = TrainingLoop(self.step, runtime)
        self.predictor = Predictor(task, runtime)
        self.groups = self._groups()
        self.position = Position()
        self.checkpoints = checkpoints.Checkpoints(
            folder / "checkpoints", keep=trainer.keep_checkpoints, writes=runtime.is_chief
        )

    def run(self) -> list[dict[str, Any]]:
        """Trains to the end; returns the history."""
        with Interruption() as interruption, self.runtime.telling_lost_workers():
            self._resume()
            with self._display() as display:
                while not self.position.finished:
                    self._train_epoch(display, interruption)
                    self._end_epoch(display)
            self.runtime.agree(self.position.counters.step)  # nobody reads before the chief has written
        checkpoints.load_weights(self.task, self.checkpoints.folder)
        if interruption.signal:
            raise Stopped(interruption.status)
        return self.position.history

    def _display(self) -> Display:
        return Display(
            self.folder / "tensorboard",
            start=self.position.counters.step,
            steps=self.total_steps,
            epochs=self.trainer.epochs,
            monitor=self.monitor,
            visible=self.runtime.is_chief and not self.position.finished,
        )

    def _resume(self) -> None:
        self.checkpoints.save_frozen(checkpoints.frozen(self.task))
        newest = self.checkpoints.newest()
        if newest:
            self._check_identity(newest)
            for group, variables in self.groups.items():
                newest.restore(group, variables)
            self.position = newest.read(Position)
            if self.runtime.is_chief:
                self._write_history()
                note(f"goes on at step {self.position.counters.step} of {self.total_steps}")
        if not self.runtime.agree(self.position.counters.step):
            raise CheckpointError(
                "the workers do not stand at the same step",
                where=str(self.checkpoints.folder),
                expected="one folder that all workers share",
                received=f"step {self.position.counters.step} here, another elsewhere",
                remedy="Put `runs_folder` on a disk that every machine sees.",
            )

    def _train_epoch(self, display: Display, interruption: Interruption) -> None:
        position, counters = self.position, self.position.counters
        every = self.trainer.checkpoint_every
        data = self.runtime.read(
            self.train, position.epoch, start=position.batch, accumulation=self.trainer.accumulation
        )
        iterator = iter(data)
        batches = self.train.num_batches(position.epoch)
        while position.batch < batches:
            limit = min(self.trainer.steps_per_loop, batches - position.batch)
            limit = min(limit, every - counters.step % every) if every else limit
            begin = time.perf_counter()
            taken = self.loop(iterator, counters, limit=limit, stop=bool(interruption.signal))
            position.totals.add(taken, time.perf_counter() - begin)
            position.batch += len(taken)
            position.counters = counters = taken.counters
            display.steps(position.epoch, taken, position.totals.speeds)
            if taken.fatal:
                kept = self.folder / "not_finite_batch.npz" if self.runtime.is_chief else None
                raise not_finite(taken, position, self.task, self.train, keep=kept)
            # Alone, a signal needs no agreement.
            if taken.stopped or self.runtime.num_workers == 1 and interruption.signal:
                self._save()
                self._leave(interruption)
            if every and counters.step % every == 0 and position.batch < batches:
                self._save()

    def _end_epoch(self, display: Display) -> None:
        position, averaging = self.position, self.trainer.averaging
        if averaging:
            averaging.end_epoch(position.epoch)
        line = {
            "epoch": position.epoch + 1,
            "step": position.counters.step,
            **self._losses(),
            **self._validate(),
            "learning_rate": self.step.learning_rate(position.counters.step - 1),
            **position.totals.speeds,
            "seconds": position.totals.seconds,
        }
        position.history.append(line)
        position.epoch, position.batch, position.totals = position.epoch + 1, 0, Totals()
        position.finished = position.epoch == self.trainer.epochs or self._stops_early()
        self._save()
        if self.runtime.is_chief:
            self._write_history()
        display.epoch(line, is_best=self._best() is line)
        if position.finished and position.epoch < self.trainer.epochs and self.runtime.is_chief:
            note(f"{self.monitor} no longer improves: training ends after epoch {position.epoch}")

    def _losses(self) -> dict[str, float]:
        totals = self.position.totals
        if not totals.weights:  # no step of all met only finite numbers
            return dict.fromkeys(loss_metrics(self.task.loss_names), math.nan)
        return mean_losses(totals.losses, totals.weights)

    def _validate(self) -> dict[str, float]:
        if self.validation is None:
            return {}
        averaging = self.trainer.averaging
        with averaging.in_place() if averaging else nullcontext():
            answers, targets, loss = self.predictor(self.validation)
        metrics = {"loss": loss, **self.task.measure(answers, targets)}
        return {f"validation_{name}": value for name, value in metrics.items()}

    def _measured(self, name: str) -> list[float]:
        return [line[f"validation_{name}"] for line in self.position.history]

    def _best(self) -> dict[str, Any] | None:
        """The line of the epoch whose weights count; None where that is the last one, whichever it is."""
        if not self.position.history or self.validation is None or self.trainer.selection == "last_epoch":
            return None
        return self.position.history[best_epoch(self._measured(self.monitor), self._measured("loss"), self.mode)]

    def _stops_early(self) -> bool:
        stopping = self.trainer.early_stopping
        return stopping is not None and stopping.stops(self._measured(self.monitor), self.mode)

    def _groups(self) -> dict[str, checkpoints.Group]:
        weights = checkpoints.trained(self.task)

        def beside(kept: dict[str, list[tf.Variable]]) -> checkpoints.Group:
            return {f"{name}/{path}": value for name in kept for path, value in zip(weights, kept[name], strict=True)}

        groups = {"weights": weights, "slots": beside(self.trainer.optimizer.slots)}
        if self.trainer.averaging:
            groups["averages"] = dict(zip(weights, self.trainer.averaging.variables, strict=True))
            groups["averaged"] = beside(self.trainer.averaging.kept)
        return {name: group for name, group in groups.items() if group}

    def _save(self) -> None:
        best = self._best()
        best = best and {"epoch": best["epoch"], "step": best["step"], "value": best[f"validation_{self.monitor}"]}
        step = self.position.counters.step
        facts = {"step": step, "monitor": self.monitor, "best": best, **self.identity}
        self.checkpoints.save(step, self.groups, {**facts, **dataclasses.asdict(self.position)})

    def _write_history(self) -> None:
        lines = [json.dumps(line) + "\n" for line in self.position.history]
        files.write_text(self.folder / "history.jsonl", "".join(lines))

    def _leave(self, interruption: Interruption) -> None:
        self.runtime.agree(self.position.counters.step)  # the chief has written before others leave
        if self.runtime.is_chief:
            note(f"stopped as asked at step {self.position.counters.step}; the same command goes on from there")
        raise Stopped(interruption.status)

    def _check_identity(self, checkpoint: checkpoints.Checkpoint) -> None:
        found = dict(checkpoint.read(Identity))
        if found != self.identity:
            raise CheckpointError(
                "the checkpoint belongs to another run",
                where=str(checkpoint.folder),
                expected=_facts(self.identity),
                received=_facts(found),
                remedy="Give this run another `name`, or delete the folder to train anew.",
            )


def _facts(values: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value!r}" for name, value in values.items())
