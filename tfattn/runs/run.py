"""A run of a pipeline: a resolved configuration, its folder and its models."""

import html
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfattn import files
from tfattn.config.schema import Config
from tfattn.errors import ConfigError, DataError
from tfattn.frames import to_frame
from tfattn.runs import identity
from tfattn.runs.ensemble import member_configs
from tfattn.runs.identity import Fingerprints
from tfattn.runs.member import Member
from tfattn.runs.stage_log import StageLog
from tfattn.runs.tracking import RunTracking
from tfattn.training.runtime import Runtime

if TYPE_CHECKING:  # takes half a second to import
    import pandas as pd

LATEST = "latest"  # a link to the newest run


class Run:
    """A run of a pipeline, with a single model or an ensemble.

    Args:
        config: the resolved configuration.
        fingerprints: of all inputs other than the configuration.
        runtime: the devices that train.

    Attributes:
        name: the configured name.
        id: the id of the data and settings of the run.
        folder: the folder of the results.
        stage_log: the log of all stages but training, which is in the log of each member.
        members: the models. A single model has its files in the run's folder.
        export: the folder of the exported model; None until the export stage has been run.
        tracking: the tracking by the program of the section `tracker`.

    Example:
        >>> run = tfattn.run("pipelines/factory_reports.yaml")
        >>> run.metrics["accuracy"], run.report, run.export
    """

    def __init__(self, config: Config, *, fingerprints: Fingerprints, runtime: Runtime):
        self.config = config
        self.fingerprints = fingerprints
        self.runtime = runtime
        self.export: Path | None = None
        self.name: str = config.values["name"]
        root = Path(config.values["runs_folder"]) / self.name
        _check_link(root / LATEST)
        self.id = identity.run_id(config, fingerprints)
        self.folder = root / self.id
        self.stage_log = self._stage_log(self.folder, config, self.id, link=root / LATEST)
        self.members = []
        configs = member_configs(config)
        for member in configs:
            id = identity.run_id(member, fingerprints)
            log = self._stage_log(self.folder / "members" / id, member, id) if len(configs) > 1 else self.stage_log
            prepared = root / "prepared" / identity.data_id(member, fingerprints)
            self.members.append(Member(member, prepared=prepared, stage_log=log))
        self.tracking = RunTracking(self)

    @property
    def datasets(self) -> list[Member]:
        """A member for each folder of prepared data."""
        return list({member.prepared: member for member in self.members}.values())

    @property
    def metrics(self) -> dict[str, int | float]:
        """The metrics of the evaluation.

        Raises:
            DataError: the run has not been evaluated.
        """
        return files.read_json(_existing(self.folder / "metrics.json", "evaluate"), dict[str, int | float])

    @property
    def predictions(self) -> "pd.DataFrame":
        """The predictions of the evaluation, a row for each evaluated row; raises as `metrics`."""
        path = _existing(self.folder / "predictions.jsonl", "evaluate")
        return to_frame(files.read_json_lines(path, dict[str, Any]))

    @property
    def report(self) -> Path:
        """The page with the results of the evaluation; raises as `metrics`."""
        return _existing(self.folder / "report.html", "evaluate")

    @property
    def history(self) -> "pd.DataFrame":
        """The training history, a row for each validation of each model; `member` is the index of the model.

        Raises:
            DataError: the run has not been trained.
        """
        return to_frame(
            {"member": index, **line}
            for index, member in enumerate(self.members)
            for line in files.read_json_lines(_existing(member.folder / "history.jsonl", "train"), dict[str, Any])
        )

    def __repr__(self) -> str:
        return f"<Run {self.name} in {self.folder}>"

    def _repr_html_(self) -> str:
        """Return the metrics as a table, and the locations of the results."""
        found = self.metrics if (self.folder / "metrics.json").is_file() else {}
        rows = "".join(f"<tr><td>{html.escape(name)}</td><td>{value:.4g}</td></tr>" for name, value in found.items())
        places = {"run": self.folder, **({"report": self.report} if found else {}), "export": self.export}
        lines = "".join(f"<div>{name}: <code>{html.escape(str(path))}</code></div>" for name, path in places.items())
        return f"<b>{html.escape(self.name)}</b>{lines}<table>{rows}</table>"

    def _stage_log(self, folder: Path, config: Config, id: str, *, link: Path | None = None) -> StageLog:
        return StageLog(folder, config, id, link=link, writes=self.runtime.is_chief)


def _existing(path: Path, stage: str) -> Path:
    """Return the path of a result.

    Raises:
        DataError: the stage that writes it has not been run.
    """
    if not path.is_file():
        remedy = f'Run the stage that writes it: tfattn.run(..., until="{stage}").'
        raise DataError("the run has no such result yet", where=str(path), remedy=remedy)
    return path


def _check_link(path: Path) -> None:
    """Check that no folder has the name of the link to the newest run."""
    if path.is_dir() and not path.is_symlink():
        raise ConfigError(
            "a folder has the name of the link to the newest run",
            where=str(path),
            expected="a symbolic link, or nothing",
            received="a folder",
            remedy="Rename it, or choose another `runs_folder`.",
        )
