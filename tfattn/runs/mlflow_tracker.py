"""Tracking of runs in MLflow: https://mlflow.org."""

import functools
import logging
import os
import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from tfattn import files
from tfattn.errors import ConfigError
from tfattn.runs.tracking import TrackedRun, Tracker

ID, ARTIFACT, PARENT = "tfattn.id", "tfattn.artifact", "mlflow.parentRunId"  # tags of a run
STEP = "step"  # the metric that says which lines of the history are logged
STATUS = {"running": "RUNNING", "finished": "FINISHED", "failed": "FAILED", "killed": "KILLED"}
MAX_METRICS, MAX_PARAMETERS = 1000, 100  # of a request
MAX_KEY, MAX_VALUE = 250, 6000  # characters
# Settings of the client, unless the user has set them: a server that is down costs seconds, not minutes.
SETTINGS = {
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "GIT_PYTHON_REFRESH": "quiet",
}
_OTHER = re.compile(r"[^\w.\- ]")

Item = TypeVar("Item")


@dataclass(kw_only=True, eq=False)
class MlflowTracker(Tracker):
    """Records runs in MLflow: parameters, metrics of each validation, metrics of the evaluation, report and model card.

    A run has the tag `tfattn.id`, by which a resumed run is found. The models of an ensemble are nested runs.

    Args:
        uri: the address of a tracking server, such as http://127.0.0.1:5000, or a database, such as
            sqlite:///mlflow.db; null uses the environment variable MLFLOW_TRACKING_URI, or else MLflow's default.
        experiment: the name of the experiment; null uses the name of the pipeline.

    Raises:
        ConfigError: the package mlflow is not installed.

    Example:
        tracker: {name: mlflow, uri: "http://127.0.0.1:5000"}
    """

    uri: str | None = None
    experiment: str | None = None

    def __post_init__(self):
        for name, value in SETTINGS.items():
            os.environ.setdefault(name, value)
        try:
            from mlflow import MlflowClient
        except ImportError:
            raise ConfigError(
                "the package mlflow is not installed",
                key="name",
                expected="mlflow or mlflow-skinny",
                remedy="Install it: pip install 'tfattn[mlflow]'.",
            ) from None
        for name in ("mlflow", "alembic"):
            logging.getLogger(name).setLevel(logging.WARNING)
        self._runs: dict[str, str] = {}  # id to the id in MLflow
        self._connect = functools.cache(lambda: MlflowClient(tracking_uri=self.uri))

    def log(self, tracked: TrackedRun) -> None:
        from mlflow.entities import Metric, Param, RunTag

        client, run = self._connect(), self._run_of(tracked)
        known = client.get_run(run).data
        now = int(1000 * time.time())
        lines = [line for line in tracked.history if line["step"] > known.metrics.get(STEP, -1)]
        metrics = [Metric(_key(name), value, now, line["step"]) for line in lines for name, value in line.items()]
        last = tracked.history[-1]["step"] if tracked.history else 0
        metrics += [
            Metric(key, value, now, last)
            for key, value in {_key(f"evaluation/{name}"): value for name, value in tracked.metrics.items()}.items()
            if known.metrics.get(key) != value
        ]
        parameters = {_key(name): value[:MAX_VALUE] for name, value in tracked.parameters.items()}
        new = [Param(key, value) for key, value in parameters.items() if key not in known.params]
        for chunk in _chunks(new, MAX_PARAMETERS):
            client.log_batch(run, params=chunk)
        for chunk in _chunks(metrics, MAX_METRICS):
            client.log_batch(run, metrics=chunk)
        for path in tracked.artifacts:
            tag, digest = f"{ARTIFACT}.{path.name}", files.sha256(path)
            if known.tags.get(tag) != digest:
                client.log_artifact(run, str(path))
                client.log_batch(run, tags=[RunTag(tag, digest)])
        if tracked.state == "running":
            client.update_run(run, STATUS[tracked.state])
        else:
            client.set_terminated(run, STATUS[tracked.state])

    def _run_of(self, tracked: TrackedRun) -> str:
        """Return the id of a run in MLflow; creates the run if there is none."""
        if tracked.id not in self._runs:
            client, name = self._connect(), self.experiment or tracked.experiment
            experiment = client.get_experiment_by_name(name)
            number = client.create_experiment(name) if experiment is None else experiment.experiment_id
            found = client.search_runs([number], filter_string=f"tags.`{ID}` = '{tracked.id}'", max_results=1)
            if found:
                self._runs[tracked.id] = found[0].info.run_id
            else:
                tags = {ID: tracked.id} | ({PARENT: self._runs[tracked.parent]} if tracked.parent else {})
                self._runs[tracked.id] = client.create_run(number, run_name=tracked.name, tags=tags).info.run_id
        return self._runs[tracked.id]


def _key(name: str) -> str:
    """Return a name that MLflow accepts: a label may have any characters.

    Example:
        >>> _key("f1/<b>"), _key("f1/..")
        ('f1/_b_', 'f1/_')
    """
    parts = [_OTHER.sub("_", part) for part in name.split("/")]
    return "/".join("_" if part.strip(".") == "" else part for part in parts)[:MAX_KEY]


def _chunks(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    whole = list(items)
    for start in range(0, len(whole), size):
        yield whole[start : start + size]
