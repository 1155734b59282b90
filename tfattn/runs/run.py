"""A run of a pipeline: a resolved configuration, its folder and its models."""

from pathlib import Path

from tfattn.config.schema import Config
from tfattn.errors import ConfigError
from tfattn.runs import identity
from tfattn.runs.ensemble import member_configs
from tfattn.runs.identity import Fingerprints
from tfattn.runs.member import Member
from tfattn.runs.stage_log import StageLog
from tfattn.training.runtime import Runtime

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

    Example:
        run = Run(resolve("pipelines/pn_flag.yaml"), fingerprints=fingerprints, runtime=Runtime())
        weights = [member.folder / "checkpoints" for member in run.members]
    """

    def __init__(self, config: Config, *, fingerprints: Fingerprints, runtime: Runtime):
        self.config = config
        self.fingerprints = fingerprints
        self.runtime = runtime
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

    @property
    def datasets(self) -> list[Member]:
        """A member for each folder of prepared data."""
        return list({member.prepared: member for member in self.members}.values())

    def _stage_log(self, folder: Path, config: Config, id: str, *, link: Path | None = None) -> StageLog:
        return StageLog(folder, config, id, link=link, writes=self.runtime.is_chief)


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
