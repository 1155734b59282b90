"""Records of the stages that are done, written when a stage has ended well and read before it is run again."""

import contextlib
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


class Done(files.Manifest):
    """The content of `stages/<stage>.json` of a stage that has ended well, with the files that it has written.

    Attributes:
        inputs: the digest of all that the stage depends on.
        seconds: the time that it took.
    """

    inputs: str
    seconds: float


class StageRecords:
    """The records of stages in a folder, as `stages/<stage>.json`, beside the configuration of the stages.

    Args:
        folder: of a run or of a member.
        config: written as `config.yaml`.
        made_of: the identity of the run or member, on which every stage depends.
        link: a link that is pointed at the folder whenever a stage begins; None for no link.
        writes: whether this process writes; of several that train together, only the chief does.
    """

    def __init__(self, folder: Path, config: Config, made_of: str, *, link: Path | None = None, writes: bool = True):
        self.folder = folder
        self._config = config
        self.made_of = made_of
        self._link = link
        self._writes = writes
        self._seen: set[str] = set()  # stages that this process has announced
        self._told: set[str] = set()
        self._done: dict[str, str] = {}  # stages that this process has found done, and the digest of their inputs

    @contextlib.contextmanager
    def stage(
        self, name: str, *, force: bool = False, inputs: Any = None, leaves: Sequence[str] = ()
    ) -> Iterator[bool]:
        """Yield whether the stage has to run; when the block ends well, record it as done.

        Args:
            name: the stage.
            force: whether to run it even if it is done.
            inputs: what it depends on beside the identity of the run or member.
            leaves: patterns of the files that it writes into the folder; if one is damaged, the stage is not done.
        """
        needed = force or not self.is_done(name, inputs=inputs)
        if not (needed and self._writes):
            self._say(name, needed)
            if self._writes:
                self._mend_config()
            yield needed
            return
        with files.lock(self.folder):
            self._say(name, needed)
            self._path(name).unlink(missing_ok=True)
            self.write_config()
            started = time.monotonic()
            yield True
            seconds = round(time.monotonic() - started, 1)
            left = [path for pattern in leaves for path in self.folder.glob(pattern) if path.is_file()]
            self._done[name] = made_of = self.digest(inputs)
            files.write_text(self._path(name), files.record(self.folder, left, inputs=made_of, seconds=seconds))

    def is_done(self, stage: str, *, inputs: Any = None) -> bool:
        """Tell whether a stage has ended well with these inputs and its files are undamaged; note a damaged one."""
        record, made_of = self._path(stage), self.digest(inputs)
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
            self._tell(f"{stage} is run again, because of damage: {error.where}: {error.what}")
            return False
        self._done[stage] = made_of
        return True

    def forget(self, stage: str, *names: str) -> None:
        """Delete the record of a stage and its folders of these names, if this process writes."""
        if not self._writes:
            return
        self._done.pop(stage, None)
        with files.lock(self.folder):
            self._path(stage).unlink(missing_ok=True)
            for name in names:
                if (self.folder / name).exists():
                    files.remove_folder(self.folder / name)

    def digest(self, inputs: Any = None) -> str:
        """Compute the digest of all that a stage with these inputs depends on."""
        return files.digest([self.made_of, inputs])

    def write_config(self) -> Path:
        """Write the resolved configuration into the folder, point the link at the folder, and return the file."""
        files.write_text(self._config_file, sealed(to_yaml(self._config)))
        if self._link is not None:
            files.atomic_link(self._link, self.folder.name)
        return self._config_file

    @property
    def _config_file(self) -> Path:
        return self.folder / "config.yaml"

    def _mend_config(self) -> None:
        if not is_sealed(self._config_file):
            note(f"written again, because of damage: {self._config_file}")
            with files.lock(self.folder):
                self.write_config()

    def _path(self, stage: str) -> Path:
        return self.folder / "stages" / f"{stage}.json"

    def _tell(self, sentence: str) -> None:
        if sentence not in self._told:  # several stages may check whether one is done
            self._told.add(sentence)
            note(sentence)

    def _say(self, stage: str, needed: bool) -> None:
        announce(stage, self.folder, needed=needed, again=stage in self._seen)
        self._seen.add(stage)


def announce(stage: str, folder: Path, *, needed: bool, again: bool = False) -> None:
    """Tell the user that a stage begins; or that it is skipped, unless this was told before (`again`)."""
    if needed:
        note(f"{stage}: {folder}")
    elif not again:
        note(f"{stage}: nothing has changed, skipped (--force runs it): {folder}")
