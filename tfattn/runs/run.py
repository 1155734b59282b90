"""One run of a pipeline: a resolved configuration, its folder and its models."""

from pathlib import Path

from tfattn.config.schema import Config
from tfattn.errors import ConfigError
from tfattn.runs import identity
from tfattn.runs.ensemble import configurations
from tfattn.runs.identity import Inputs
from tfattn.runs.member import Member
from tfattn.runs.stage_log import StageLog
from tfattn.training.runtime import Runtime

LATEST = "latest"  # a link to the newest run


class Run:
    """One run of a pipeline, with one model or an ensemble.

    Args:
        config: the resolved configuration.
        inputs: what it depends on beside the configuration.
        runtime: the devices that train.

    Attributes:
        name: as configured.
        id: the identity of the data and settings of the run.
        folder: of the results of the whole run.
        stage_log: of the stages of the whole run; training is in the log of each member.
        members: the models. A single one has its files in the run's folder.

    Example:
        run = Run(resolve("pipelines/pn_flag.yaml"), inputs=inputs, runtime=Runtime())
        weights = [member.folder / "checkpoints" for member in run.members]
    """

    def __init__(self, config: Config, *, inputs: Inputs, runtime: Runtime):
        self.config = config
        self.inputs = inputs
        self.runtime = runtime
        self.name: str = config.values["name"]
        root = Path(config.values["runs_folder"]) / self.name
        _check_link(root / LATEST)
        self.id = identity.of_run(config, inputs)
        self.folder = root / self.id
        self.stage_log = self._stage_log(self.folder, config, self.id, link=root / LATEST)
        self.members = []
        configs = configurations(config)
        for one in configs:
            id = identity.of_run(one, inputs)
            log = self._stage_log(self.folder / "members" / id, one, id) if len(configs) > 1 else self.stage_log
            prepared = root / "prepared" / identity.of_data(one, inputs)
            self.members.append(Member(one, prepared=prepared, stage_log=log))

    @property
    def datasets(self) -> list[Member]:
        """One member of each folder of prepared data."""
        return list({member.prepared: member for member in self.members}.values())

    def _stage_log(self, folder: Path, config: Config, id: str, *, link: Path | None = None) -> StageLog:
        return StageLog(folder, config, id, link=link, writes=self.runtime.is_chief)


def _check_link(path: Path) -> None:
    """Refuse a folder where the link to the newest run has to be, before anything is computed."""
    if path.is_dir() and not path.is_symlink():
        raise ConfigError(
            "a folder is in the place of the link to the newest run",
            where=str(path),
            expected="a symbolic link, or nothing",
            received="a folder",
            remedy="Rename it, or choose another `runs_folder`.",
        )
