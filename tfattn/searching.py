"""The search for better settings of a pipeline: trials in separate processes, with Optuna's sampler and pruner.

The state of a search is in `runs/<name>/search/<id>/`. A search that was killed continues: the trial that was at work
resumes from its checkpoint, with the same settings. Several processes can share a search; each works on its own trials.
"""

import contextlib
import json
import math
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tfattn import console, files, stages
from tfattn.comparing import NOT_FINITE, failure, read_history, run_folder, start_stage
from tfattn.config.build import build
from tfattn.config.resolve import resolve
from tfattn.config.schema import Config
from tfattn.errors import ConfigError, TfattnError, TrainingError
from tfattn.evaluation import search_report
from tfattn.evaluation.search_report import Trial
from tfattn.runs.search import Range, Search, current_values

STARTUP_TRIALS = 5  # with random settings, and before trials are pruned
TRIALS_FOR_IMPORTANCES = 10
MAX_FAILURES = 3  # in a row
POLL_SECONDS = 0.5
BUSY_SECONDS = 60  # waiting for the database


def search(
    pipeline: str | Path,
    overrides: Sequence[str] | None = None,
    *,
    minutes: float | None = None,
    trials: int | None = None,
) -> Path:
    """Search for settings with a better validation metric; finished trials are not repeated.

    The first trial is the pipeline as it is. The validation rows select the settings, so their metric is biased
    upwards: the best pipeline holds out test rows, which are not used for selection.

    Args:
        pipeline: the pipeline file, with the ranges in its `search` section.
        overrides: `key=value` for each changed key of the pipeline.
        minutes: no trial starts after this time; by default there is no limit.
        trials: the number of trials; by default that of the pipeline.

    Returns:
        the folder of the search: `best.yaml`, the best trial as a pipeline; `report.html`; `trials.jsonl`; logs.

    Raises:
        ConfigError: the pipeline has errors, a range has a value that the pipeline refuses, or Optuna is missing.
        TrainingError: the first trials have failed, or the database of the search is locked.
    """
    with _storage_errors():
        return _search(pipeline, overrides, minutes, trials)


def _search(pipeline: str | Path, overrides: Sequence[str] | None, minutes: float | None, trials: int | None) -> Path:
    study = Study(pipeline, list(overrides or ()), trials)
    deadline = math.inf if minutes is None else time.monotonic() + 60 * minutes
    failures = 0
    while time.monotonic() < deadline and failures < MAX_FAILURES:
        with study.next_trial() as trial:
            if trial is None:
                break
            outcome = study.run(trial)
        console.note(f"  {outcome}")
        failures = failures + 1 if outcome.state == "failed" else 0
    study.write()
    return study.folder


class Study:
    """A search: its settings, its trials on the disk, and the process of a trial; see `search` for the arguments."""

    def __init__(self, pipeline: str | Path, overrides: list[str], trials: int | None):
        self._optuna = _optuna()
        config = resolve(pipeline, overrides)
        section: Search = Search() if config.values["search"] is None else build(config, "search")
        self.pipeline = pipeline
        self.ranges: Mapping[str, Range] = section.ranges_for(config)
        self.overrides = [*overrides, "ensemble=null", *_held_out(config, section.test)]
        self.num_trials = trials or section.trials
        self._check_ranges()
        run = stages.open_run(pipeline, self.overrides)
        stages.run(run, "prepare")
        member = run.members[0]
        self.metric, self.mode = member.trainer.monitored(member.task(member.preprocessor()))
        self.seed: int = config.values["seed"]
        self.pruning = section.pruning
        identity = files.digest([run.id, dict(self.ranges), section.pruning])[:10]
        self.folder = run.folder.parent / "search" / identity
        self.folder.mkdir(parents=True, exist_ok=True)
        self._study = self._open(current_values(config, self.ranges))

    @contextlib.contextmanager
    def next_trial(self) -> Iterator[Any]:
        """Yield the next trial, which this process owns in the block: one that was interrupted, or a new one; or None.

        A process that is killed loses its lock, so that the next process continues its trial.
        """
        with contextlib.ExitStack() as owned:
            with files.lock(self.folder / "trials", wait=True):
                trial = self._claim(owned)
            yield trial

    def run(self, trial: Any) -> Trial:
        """Train with the settings of a trial in a separate process, and record the result."""
        settings = {key: _suggest(trial, key, values) for key, values in self.ranges.items()}
        overrides = [*self.overrides, *(f"{key}={json.dumps(value)}" for key, value in settings.items())]
        console.note(f"trial {trial.number + 1} of {self.num_trials}: {_words(settings)}")
        log = self.folder / "logs" / f"{trial.number + 1}.log"
        folder = run_folder(self.pipeline, overrides)
        while files.is_locked(folder):  # by another trial with these settings, or after this process was killed
            time.sleep(POLL_SECONDS)
        process = start_stage("train", self.pipeline, overrides, log=log)
        try:
            is_pruned = self._watch(trial, folder, process)
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
            status = process.wait()
        history, states = read_history(folder), self._optuna.trial.TrialState
        values = [line[f"validation_{self.metric}"] for line in history]
        trial.set_user_attr("seconds", sum(line["seconds"] for line in history))
        if is_pruned:
            self._study.tell(trial.number, state=states.PRUNED)
        elif status == 0 and values and not math.isnan(best := (max if self.mode == "max" else min)(values)):
            self._study.tell(trial.number, best)
        else:
            reason = failure(log, status)
            trial.set_user_attr("reason", "the loss diverged" if NOT_FINITE in reason else f"{reason} ({log})")
            self._study.tell(trial.number, state=states.FAIL)
        return self.trials()[trial.number]

    def trials(self) -> list[Trial]:
        """Return all trials in their order, also those of other processes."""
        return [
            Trial(
                number=trial.number,
                state={"COMPLETE": "finished", "FAIL": "failed"}.get(trial.state.name, trial.state.name.lower()),
                settings=trial.params,
                metric=self.metric,
                value=trial.value if trial.state.name == "COMPLETE" else _last(trial.intermediate_values),
                seconds=trial.user_attrs.get("seconds", 0.0),
                reason=trial.user_attrs.get("reason", ""),
            )
            for trial in self._study.get_trials()
        ]

    def write(self) -> None:
        """Write the best trial as a pipeline, the trials and the page.

        Raises:
            TrainingError: no trial has finished.
        """
        trials = self.trials()
        finished = [trial for trial in trials if trial.state == "finished"]
        if not finished and any(trial.state == "running" for trial in trials):
            console.note("other processes are still at work on their trials; the last of them writes the results")
            return
        if not finished:
            reasons = [trial.reason for trial in trials if trial.reason]
            raise TrainingError(
                "no trial has finished",
                where=str(self.folder),
                received=reasons[-1] if reasons else f"{len(trials)} trials",
                remedy="The same command continues the search." if not reasons else "See its log.",
            )
        best = (max if self.mode == "max" else min)(finished, key=lambda trial: trial.value)
        settings = [f"{key}={json.dumps(value)}" for key, value in best.settings.items()]
        config = resolve(self.pipeline, [*self.overrides, *settings, "search=null"])
        search_report.write(self.folder, trials, best, config=config, importances=self._importances(), mode=self.mode)
        console.note(f"best pipeline: {self.folder / 'best.yaml'}")

    def _open(self, current: dict[str, Any]) -> Any:
        """Open or create the study, with the pipeline as it is as the first trial."""
        address, pruners = f"sqlite:///{self.folder / 'search.db'}", self._optuna.pruners
        with files.lock(self.folder / "trials", wait=True):  # two processes cannot create the tables
            study = self._optuna.create_study(
                study_name="search",
                storage=self._optuna.storages.RDBStorage(address, {"connect_args": {"timeout": BUSY_SECONDS}}),
                direction="maximize" if self.mode == "max" else "minimize",
                pruner=pruners.MedianPruner(n_startup_trials=STARTUP_TRIALS) if self.pruning else pruners.NopPruner(),
                load_if_exists=True,
            )
            if not study.get_trials(deepcopy=False):
                study.enqueue_trial(current)
        return study

    def _claim(self, owned: contextlib.ExitStack) -> Any:
        """Lock and return an interrupted or a new trial; None if all trials are finished or at work."""
        trials = self._study.get_trials(deepcopy=False)
        for trial in trials:
            if trial.state.name == "RUNNING":
                with contextlib.suppress(TfattnError):  # another process works on it
                    owned.enter_context(files.lock(self.folder / "trials" / str(trial.number)))
                    self._study.sampler = self._sampler(trial.number)
                    return self._optuna.trial.Trial(self._study, trial._trial_id)
        started = sum(trial.state.name != "WAITING" for trial in trials)
        if started >= self.num_trials:
            return None
        self._study.sampler = self._sampler(started)
        trial = self._study.ask()
        owned.enter_context(files.lock(self.folder / "trials" / str(trial.number)))
        return trial

    def _sampler(self, number: int) -> Any:
        """Return the sampler of a trial: its draws depend on the finished trials and its number alone."""
        seed = (self.seed * 1_000_003 + number) % 2**32
        samplers = self._optuna.samplers
        return samplers.TPESampler(seed=seed, n_startup_trials=STARTUP_TRIALS, multivariate=True, constant_liar=True)

    def _watch(self, trial: Any, folder: Path, process: Any) -> bool:
        """Report each validation to Optuna until the process ends; return whether the trial is pruned."""
        reported, is_over = 0, False
        while not is_over:
            is_over = process.poll() is not None
            for line in read_history(folder)[reported:]:
                reported += 1
                trial.report(line[f"validation_{self.metric}"], line["step"])
                if trial.should_prune():
                    return True
            if not is_over:
                time.sleep(POLL_SECONDS)
        return False

    def _check_ranges(self) -> None:
        """Check that the pipeline accepts both ends of all ranges, before the first trial.

        Raises:
            ConfigError: it refuses a value.
        """
        for key, values in self.ranges.items():
            for value in (values["low"], values["high"]) if isinstance(values, dict) else values:
                resolve(self.pipeline, [*self.overrides, f"{key}={json.dumps(value)}"])

    def _importances(self) -> dict[str, float]:
        """Return the importance of each setting for the metric; empty for too few trials."""
        finished = [trial for trial in self.trials() if trial.state == "finished"]
        if len(finished) < TRIALS_FOR_IMPORTANCES or len({trial.value for trial in finished}) < 2:
            return {}
        evaluator = self._optuna.importance.FanovaImportanceEvaluator(seed=self.seed)
        found = self._optuna.importance.get_param_importances(self._study, evaluator=evaluator)
        return {key: float(value) for key, value in found.items()}


def _held_out(config: Config, fraction: float) -> list[str]:
    """Return the override that holds out test rows, for a pipeline without test rows."""
    split = config.at("data", "split")
    return [] if split["test"] or split["hold_out"] else [f"data.split.test={fraction}"]


def _suggest(trial: Any, key: str, values: Range) -> Any:
    if not isinstance(values, dict):
        return trial.suggest_categorical(key, values)
    low, high, log = values["low"], values["high"], values.get("log", False)
    if isinstance(low, int) and isinstance(high, int):
        return trial.suggest_int(key, low, high, log=log)
    return trial.suggest_float(key, low, high, log=log)


def _words(settings: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{key}={value:.4g}" if isinstance(value, float) else f"{key}={value}" for key, value in settings.items()
    )


def _last(values: Mapping[int, float]) -> float | None:
    return values[max(values)] if values else None


@contextlib.contextmanager
def _storage_errors() -> Iterator[None]:
    """Convert errors of the database within the block into a TrainingError."""
    optuna = _optuna()
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except (optuna.exceptions.StorageInternalError, SQLAlchemyError) as error:
        raise TrainingError(
            "the database of the search cannot be used",
            where="search.db",
            received=str(error.__cause__ or error).partition("\n")[0],
            remedy="Close other programs that use it; the same command continues the search.",
        ) from None


def _optuna() -> Any:
    """Import Optuna, and silence its messages.

    Raises:
        ConfigError: it is not installed.
    """
    try:
        import optuna
    except ImportError:
        raise ConfigError(
            "a search needs the package optuna", remedy="Install it: pip install tfattn[search]"
        ) from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna
