"""One run of a pipeline: a resolved configuration, and the folder of what comes of it."""

from pathlib import Path

from tfattn.config.schema import Config
from tfattn.runs import identity
from tfattn.runs.ensemble import configurations
from tfattn.runs.identity import Inputs
from tfattn.runs.member import Member
from tfattn.runs.records import StageRecords
from tfattn.training.runtime import Runtime


class Run:
    """One resolved configuration and its folder, for one model or an ensemble.

    Args:
        config: the resolved configuration.
        inputs: what it depends on beside the configuration.
        runtime: where it trains.

    Attributes:
        name: as configured.
        id: says what data and settings the run is made of.
        folder: of what comes of the run as a whole.
        records: which stages of the whole are done; training is recorded by each member.
        members: the training of each model. That of a single one leaves its files in the run's folder.

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
        self.id = identity.of_run(config, inputs)
        self.folder = root / self.id
        self.records = self._records(self.folder, config, self.id, link=root / "latest")
        self.members = []
        configs = configurations(config)
        for one in configs:
            id = identity.of_run(one, inputs)
            records = self._records(self.folder / "members" / id, one, id) if len(configs) > 1 else self.records
            prepared = root / "prepared" / identity.of_data(one, inputs)
            self.members.append(Member(one, prepared=prepared, records=records))

    @property
    def datasets(self) -> list[Member]:
        """One member for each folder of prepared data."""
        return list({member.prepared: member for member in self.members}.values())

    def _records(self, folder: Path, config: Config, id: str, *, link: Path | None = None) -> StageRecords:
        return StageRecords(folder, config, id, link=link, writes=self.runtime.is_chief)
