"""The log of finished stages, which lets a stage be skipped when nothing has changed."""

import contextlib
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NotRequired

from tfattn import files
from tfattn.config.checksum import checksummed, has_valid_checksum
from tfattn.config.schema import Config
from tfattn.config.show import to_yaml
from tfattn.console import note
from tfattn.errors import DataError


class StageRecord(files.Manifest):
    """The content of `stages/<stage>.json`: a finished stage and the files that it has written.

    Attributes:
        inputs: the digest of all inputs of the stage.
        seconds: the duration.
        prepared: of training, the id of the prepared data.
    """

    inputs: str
    seconds: float
    prepared: NotRequired[str]


def stage_file(folder: Path, stage: str) -> Path:
    """Return the path of the record of a stage of a run or of a member."""
    return folder / "stages" / f"{stage}.json"


def read_stage(folder: Path, stage: str) -> StageRecord | None:
    """Read the record of a stage; None if the stage has not finished, or its record is damaged."""
    with contextlib.suppress(DataError):
        return files.read_manifest_file(stage_file(folder, stage), StageRecord)
    return None


def update_stage(folder: Path, stage: str) -> None:
    """Record that outputs of a finished stage were removed, or replaced on purpose."""
    record = read_stage(folder, stage)
    if record is not None:
        paths = [folder / name for name in record["files"] if (folder / name).is_file()]
        facts = {name: record[name] for name in ("inputs", "seconds", "prepared") if name in record}
        files.write_text(stage_file(folder, stage), files.manifest_text(folder, paths, **facts))


class StageLog:
    """The log of the stages of a folder: `stages/<stage>.json`, next to the configuration.

    Args:
        folder: the folder of a run or of a member.
        config: the configuration, written as `config.yaml`.
        identity: the id of the run or member, an input of every stage.
        link: a link that is set to the folder whenever a stage starts; None for no link.
        writes: whether this process writes; of several workers, only the chief does.
    """

    def __init__(self, folder: Path, config: Config, identity: str, *, link: Path | None = None, writes: bool = True):
        self.folder = folder
        self._config = config
        self.identity = identity
        self._link = link
        self._writes = writes
        # By stage and digest of its inputs; cached, because the SHA-256 of checkpoints takes seconds.
        self._checked: dict[tuple[str, str], bool] = {}

    @contextlib.contextmanager
    def stage(
        self, name: str, *, force: bool = False, inputs: Any = None, outputs: Sequence[str] = (), **facts: Any
    ) -> Iterator[bool]:
        """Yield whether the stage has to run; record it as done when the block ends without an exception.

        Args:
            name: the stage.
            force: whether to run it even if it is done.
            inputs: inputs in addition to the id of the run or member.
            outputs: patterns of the files that the stage writes; if a file is damaged, the stage is not done.
            facts: additional facts for the record.
        """
        needed = force or not self.is_done(name, inputs=inputs)
        if not (needed and self._writes):
            announce(name, self.folder, needed=needed)
            if self._writes:
                self._repair_config()
            yield needed
            return
        with files.lock(self.folder):
            announce(name, self.folder, needed=needed)
            stage_file(self.folder, name).unlink(missing_ok=True)
            self.write_config()
            started = time.monotonic()
            yield True
            seconds = round(time.monotonic() - started, 1)
            written = [path for pattern in outputs for path in self.folder.glob(pattern) if path.is_file()]
            digest = self.digest(inputs)
            record = files.manifest_text(self.folder, written, inputs=digest, seconds=seconds, **facts)
            files.write_text(stage_file(self.folder, name), record)
            self._checked[name, digest] = True

    def is_done(self, stage: str, *, inputs: Any = None) -> bool:
        """Return whether a stage has finished with these inputs and its outputs are intact; note damage."""
        key = stage, self.digest(inputs)
        if key not in self._checked:
            self._checked[key] = self._is_intact(*key)
        return self._checked[key]

    def forget(self, stage: str, *names: str) -> None:
        """Delete the record of a stage and its folders `names`, if this process writes."""
        if not self._writes:
            return
        self._checked.clear()
        with files.lock(self.folder):
            stage_file(self.folder, stage).unlink(missing_ok=True)
            for name in names:
                if (self.folder / name).exists():
                    files.remove_folder(self.folder / name)

    def digest(self, inputs: Any = None) -> str:
        """Compute the digest of the inputs of a stage and the identity."""
        return files.digest([self.identity, inputs])

    def write_config(self) -> Path:
        """Write the resolved configuration into the folder, set the link to the folder, and return the file's path."""
        files.write_text(self._config_file, checksummed(to_yaml(self._config)))
        if self._link is not None:
            files.atomic_link(self._link, self.folder.name)
        return self._config_file

    @property
    def _config_file(self) -> Path:
        return self.folder / "config.yaml"

    def _is_intact(self, stage: str, digest: str) -> bool:
        record = stage_file(self.folder, stage)
        if not record.exists():
            return False
        try:
            done = files.read_manifest_file(record, StageRecord)
            if done["inputs"] != digest:
                return False
            files.check(self.folder, done["files"])
        except DataError as error:
            note(f"{stage} is run again, because of damage: {error.where}: {error.what}")
            return False
        return True

    def _repair_config(self) -> None:
        if not has_valid_checksum(self._config_file):
            note(f"written again, because of damage: {self._config_file}")
            with files.lock(self.folder):
                self.write_config()


def announce(stage: str, folder: Path, *, needed: bool) -> None:
    """Note that a stage starts, or that it is skipped."""
    note(f"{stage}: {folder}" if needed else f"{stage}: nothing has changed, skipped (--force runs it): {folder}")
