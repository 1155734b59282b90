"""Tracking of runs in other programs, such as MLflow, in addition to the files of a run."""

import contextlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tfattn import console, files
from tfattn.config.build import build
from tfattn.training.interruption import Stopped

if TYPE_CHECKING:
    from tfattn.runs.member import Member
    from tfattn.runs.run import Run

MODEL_CARD = "README.md"  # of an export
State = Literal["running", "finished", "failed", "killed"]


@dataclass(frozen=True, kw_only=True)
class TrackedRun:
    """The facts about a run, or about a model of an ensemble, for a tracker.

    Attributes:
        id: the id of the data and settings; a resumed run has the same.
        name: the name for people.
        experiment: the name of the pipeline, which all its runs share.
        state: the state of the run.
        parent: the id of the run of an ensemble; None for a run.
        parameters: the configuration by key paths, such as `training.optimizer.learning_rate`.
        history: the lines of history.jsonl so far.
        metrics: the metrics of the evaluation, by the names of metrics.json.
        artifacts: files to keep with the run.
    """

    id: str
    name: str
    experiment: str
    state: State
    parent: str | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    history: Sequence[Mapping[str, Any]] = ()
    metrics: Mapping[str, float] = field(default_factory=dict)
    artifacts: Sequence[Path] = ()


class Tracker(ABC):
    """A program that records runs."""

    @abstractmethod
    def log(self, tracked: TrackedRun) -> None:
        """Record what is not recorded yet; an exception means that the program cannot be reached.

        Calls with the same facts record them once.
        """


class RunTracking:
    """The tracking of a run. A tracker that fails is reported once and left alone: it never stops a run.

    Args:
        run: the run; only the chief of several processes tracks it.
    """

    def __init__(self, run: "Run"):
        self._run = run
        is_tracked = run.config.values.get("tracker") is not None and run.runtime.is_chief
        self._tracker: Tracker | None = build(run.config, "tracker") if is_tracked else None

    @contextlib.contextmanager
    def until_end(self) -> Iterator[None]:
        """Log the results when the block ends, and its state."""
        try:
            yield
        except BaseException as error:
            self._log_all("killed" if isinstance(error, Stopped | KeyboardInterrupt) else "failed")
            raise
        self._log_all("finished")

    def log_history(self, member: "Member", history: Sequence[Mapping[str, Any]]) -> None:
        """Log the history of a model that is trained."""
        if len(self._run.members) > 1:
            self._log(self._whole("running"))
        self._log(self._model(member, history, "running"))

    def _log_all(self, state: State) -> None:
        histories = {member: _history(member.folder) for member in self._run.members}
        if not any(histories.values()):
            return  # nothing was trained
        if len(histories) > 1:
            self._log(self._whole(state))
        for member, history in histories.items():
            self._log(self._model(member, history, state))

    def _model(self, member: "Member", history: Sequence[Mapping[str, Any]], state: State) -> TrackedRun:
        if len(self._run.members) == 1:
            return self._whole(state, history)
        number = self._run.members.index(member) + 1
        return TrackedRun(
            id=member.id,
            name=f"{self._run.name} {number} of {len(self._run.members)}",
            experiment=self._run.name,
            state=state,
            parent=self._run.id,
            parameters=flat(member.config.values),
            history=tuple(history),
        )

    def _whole(self, state: State, history: Sequence[Mapping[str, Any]] = ()) -> TrackedRun:
        run = self._run
        metrics, report = run.folder / "metrics.json", run.folder / "report.html"
        artifacts = [report, *([run.export / MODEL_CARD] if run.export else [])]
        return TrackedRun(
            id=run.id,
            name=f"{run.name} {run.id}",
            experiment=run.name,
            state=state,
            parameters=flat(run.config.values),
            history=tuple(history),
            metrics=files.read_json(metrics, dict[str, int | float]) if metrics.is_file() else {},
            artifacts=[path for path in artifacts if path.is_file()],
        )

    def _log(self, tracked: TrackedRun) -> None:
        if self._tracker is None:
            return
        try:
            self._tracker.log(tracked)
        except Exception as error:  # whatever the tracker raises: the run is more important than its record
            self._tracker = None
            reason = str(error).splitlines()[0][:300] if str(error) else type(error).__name__
            console.note(f"note: the run is not tracked any more, the next command tries again: {reason}")


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Return nested values by key paths, lists as JSON; keys without a value are left out.

    Example:
        >>> flat({"training": {"epochs": 3, "steps": None, "ids": [1, 2]}})
        {'training.epochs': '3', 'training.ids': '[1, 2]'}
    """
    found: dict[str, str] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            found |= flat(value, f"{prefix}{key}.")
        elif value is not None:
            found[f"{prefix}{key}"] = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return found


def _history(folder: Path) -> list[dict[str, int | float]]:
    path = folder / "history.jsonl"
    return files.read_json_lines(path, dict[str, int | float]) if path.is_file() else []
