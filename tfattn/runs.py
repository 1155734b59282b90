"""Where the results of a pipeline stand, and which of its stages are done.

    runs/<name>/prepared/<id>/    what `prepare` wrote; one for each source, split and preprocessing
    runs/<name>/<id>/             one run: its configuration, checkpoints, metrics, plots, report; one for each setting
    runs/<name>/<id>/members/<id> each model of a run of several, as a run of its own
    runs/<name>/latest            points at the newest run

Both ids follow from the configuration, from the content of the files that are read and from the code of plugins, so the
same file run again finds its own results, and another setting, or a file that has changed, never overwrites them.
"""

import contextlib
import copy
import dataclasses
import functools
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tfattn import files
from tfattn.config.schema import Config
from tfattn.config.seal import is_sealed, sealed
from tfattn.config.show import to_yaml
from tfattn.console import note
from tfattn.errors import DataError
from tfattn.inputs import Inputs
from tfattn.training.runtime import Runtime

# Raised when prepared data or checkpoints of an older version can no longer be used.
FORMAT = 6


class Done(files.Manifest):
    """What `stages/<stage>.json` says of a stage that has ended well, beside the files that it left in the run.

    Attributes:
        inputs: the digest of all that it depends on.
        seconds: how long it took.
    """

    inputs: str
    seconds: float


class Run:
    """One resolved configuration and its folders.

    Args:
        config: the resolved configuration.
        inputs: what it depends on beside the configuration.
        runtime: started.
        parent: the folder of the run that it is a member of.

    Attributes:
        name: as configured.
        seed: as configured: of the data.
        training_seed: of weights, the order of rows and dropout.
        prepared: the folder of the prepared data.
        folder: the folder of this run.
        id: says what data and settings the run is made of.
    """

    def __init__(
        self,
        config: Config,
        *,
        inputs: Inputs,
        runtime: Runtime,
        parent: Path | None = None,
    ):
        self.config = config
        self.inputs = inputs
        self.runtime = runtime
        self.name: str = config.values["name"]
        self.seed: int = config.values["seed"]
        given = config.at("training", "seed")
        self.training_seed: int = self.seed if given is None else given
        root = Path(config.values["runs_folder"]) / self.name
        data = {key: value for key, value in config.values["data"].items() if key not in ("batching", "engine")}
        data_id = files.digest([FORMAT, data, inputs.data, self.seed])[:10]
        settings = [config.values["data"]["batching"], *(config.values[key] for key in ("model", "task", "training"))]
        self.id = files.digest([data_id, inputs.training, settings, config.values["runtime"]["precision"]])[:10]
        self.prepared = root / "prepared" / data_id
        self.folder = (parent / "members" if parent else root) / self.id
        self._latest = None if parent else root / "latest"
        self._settled: set[str] = set()  # stages that this process has seen to: a later stage asks for them again
        self._told: set[str] = set()
        self._done: dict[str, str] = {}  # stages that this process has found done, and the digest of their inputs

    @functools.cached_property
    def members(self) -> list["Run"]:
        """A run for each model that `training.folds` and `training.seeds` ask for; itself, if that is one."""
        training = self.config.values["training"]
        folds, seeds = training["folds"], training["seeds"]
        if folds is None and seeds == 1:
            return [self]
        return [
            Run(
                self._config(folds=folds, fold=fold, seed=self.training_seed + number),
                inputs=self.inputs,
                runtime=self.runtime,
                parent=self.folder,
            )
            for fold in range(folds or 1)
            for number in range(seeds)
        ]

    def _config(self, *, folds: int | None, fold: int, seed: int) -> Config:
        """The configuration of a member."""
        values = copy.deepcopy(self.config.values)
        values["training"] |= {"folds": None, "seeds": 1, "seed": seed}
        if folds is not None:
            values["data"]["split"] |= {"folds": folds, "fold": fold}
        return dataclasses.replace(self.config, values=values)

    @contextlib.contextmanager
    def preparation(self, *, force: bool) -> Iterator[bool]:
        """Yields whether the data have to be prepared; another process that is at it already is waited for."""
        with files.lock(self.prepared.with_name(f".{self.prepared.name}.lock"), wait=True):
            files.remove_leftovers(self.prepared.parent)
            needed = force or not self.prepared.exists()
            self._say("prepare", self.prepared, needed)
            yield needed

    @contextlib.contextmanager
    def stage(
        self, name: str, *, force: bool = False, inputs: Any = None, leaves: Sequence[str] = (), helps: bool = False
    ) -> Iterator[bool]:
        """Yields whether the stage has to run; when the block ends well, it is written down as done.

        Args:
            name: the stage.
            force: run it even if it is done.
            inputs: what it depends on beside the run's id.
            leaves: patterns of the files that it leaves in the run's folder; once one is damaged, it is not done.
            helps: this process only helps another, which holds the folder and writes.
        """
        needed = force or not self.is_done(name, inputs=inputs)
        if helps or not needed:
            self._say(name, self.folder, needed)
            if not helps:
                self._mend_config()
            yield needed
            return
        with files.lock(self.folder):
            self._say(name, self.folder, needed)
            self._record(name).unlink(missing_ok=True)
            self.write_config()
            started = time.monotonic()
            yield True
            seconds = round(time.monotonic() - started, 1)
            left = [path for pattern in leaves for path in self.folder.glob(pattern) if path.is_file()]
            self._done[name] = made_of = self._digest(inputs)
            files.write_text(self._record(name), files.record(self.folder, left, inputs=made_of, seconds=seconds))

    def is_done(self, stage: str, *, inputs: Any = None) -> bool:
        """Whether a stage has ended well with these inputs, and what it left stands undamaged; says what does not."""
        record, made_of = self._record(stage), self._digest(inputs)
        if self._done.get(stage) == made_of:
            return True
        if not record.exists():
            return False
        try:
            done = files.read_record(record, Done)
            if done["inputs"] != made_of:
                return False
            files.check(self.folder, done["files"])
        except DataError as error:
            self._tell(f"{stage} is done again, because of damage: {error.where}: {error.what}")
            return False
        self._done[stage] = made_of
        return True

    def forget(self, stage: str, *names: str) -> None:
        """Makes a stage undone, and deletes what it left under these names."""
        self._done.pop(stage, None)
        with files.lock(self.folder):
            self._record(stage).unlink(missing_ok=True)
            for name in names:
                if (self.folder / name).exists():
                    files.remove_folder(self.folder / name)

    def write_config(self) -> Path:
        """Writes the resolved configuration into the folder, to which `latest` points then; returns the file."""
        files.write_text(self._config_file, sealed(to_yaml(self.config)))
        if self._latest is not None:
            files.atomic_link(self._latest, self.folder.name)
        return self._config_file

    @property
    def _config_file(self) -> Path:
        return self.folder / "config.yaml"

    def _mend_config(self) -> None:
        if not is_sealed(self._config_file):
            note(f"written again, because of damage: {self._config_file}")
            with files.lock(self.folder):
                self.write_config()

    def _digest(self, inputs: Any) -> str:
        return files.digest([self.id, inputs])

    def _record(self, stage: str) -> Path:
        return self.folder / "stages" / f"{stage}.json"

    def _tell(self, sentence: str) -> None:
        if sentence not in self._told:  # several stages may ask whether one is done
            self._told.add(sentence)
            note(sentence)

    def _say(self, stage: str, folder: Path, needed: bool) -> None:
        if needed:
            note(f"{stage}: {folder}")
        elif stage not in self._settled:
            note(f"{stage}: nothing has changed, skipped (--force runs it): {folder}")
        self._settled.add(stage)
