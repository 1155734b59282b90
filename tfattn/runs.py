"""Where the results of a pipeline stand, and which of its stages are done.

    runs/<name>/prepared/<id>/    what `prepare` wrote; one for each source, split and tokenizer
    runs/<name>/<id>/             one run: its configuration, checkpoints, metrics, plots, report; one for each setting
    runs/<name>/latest            points at the newest run

Both ids follow from the configuration and from the content of the source files, so the same file run again finds its
own results, and another setting never overwrites them.
"""

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tfattn import files
from tfattn.config.schema import Config
from tfattn.config.show import to_yaml
from tfattn.console import note

# Raised when prepared data or checkpoints of an older version can no longer be used.
FORMAT = 1


class Run:
    """One resolved configuration and its folders.

    Args:
        config: the resolved configuration.
        inputs: what the data depends on beside the configuration, such as the SHA-256 of the source files.
    """

    def __init__(self, config: Config, *, inputs: dict[str, str]):
        self.config = config
        self.name = config.values["name"]
        self.seed = config.values["seed"]
        root = Path(config.values["runs_folder"]) / self.name
        data = {key: value for key, value in config.values["data"].items() if key != "batching"}
        self.data_id = files.digest([FORMAT, data, inputs, self.seed])[:10]
        settings = [config.values["data"]["batching"], *(config.values[key] for key in ("model", "task", "training"))]
        self.id = files.digest([self.data_id, settings, config.values["runtime"]["precision"]])[:10]
        self.prepared = root / "prepared" / self.data_id
        self.folder = root / self.id
        self._latest = root / "latest"

    @contextlib.contextmanager
    def stage(self, name: str, *, force: bool, inputs: Any = None) -> Iterator[bool]:
        """Yields whether the stage has to run; when the block ends well, it is written down as done.

        Args:
            name: the stage.
            force: run it even if it is done.
            inputs: what it depends on beside the run's id.
        """
        key = files.digest([self.id, inputs])
        record = self.folder / "stages" / f"{name}.json"
        if not force and record.is_file() and files.read_json(record)["inputs"] == key:
            note(f"{name}: nothing has changed, skipped (--force runs it)")
            yield False
            return
        note(f"{name}: {self.folder}")
        started = time.monotonic()
        with files.lock(self.folder):
            self._open()
            yield True
            files.write_json(record, {"inputs": key, "seconds": round(time.monotonic() - started, 1)})

    def _open(self) -> None:
        files.write_text(self.folder / "config.yaml", to_yaml(self.config))
        link = self._latest.with_name(f".latest.{os.getpid()}")
        link.unlink(missing_ok=True)
        link.symlink_to(self.folder.name)
        os.replace(link, self._latest)
