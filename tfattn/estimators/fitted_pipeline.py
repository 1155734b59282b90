"""A pipeline that is trained in a temporary folder, for an estimator."""

import dataclasses
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tfattn import console, native

if TYPE_CHECKING:
    from tfattn.runs.run import Run
    from tfattn.trained.ensemble import TrainedEnsemble

Row = Mapping[str, str]
BATCH_ROWS = 64  # always as many, so that the prediction of a row does not depend on the number of rows
VALIDATION_ROWS = 50  # `selection: last_epoch` ignores their metrics
# Needed to load a trained model; the other files are training records and logs.
NEEDED = ("prepared/{data}/*.json", "prepared/{data}/preprocessing/*", "{run}/checkpoints/**/*")


class FittedPipeline:
    """A trained pipeline and its predictions. It can be pickled, with its weights.

    Args:
        sections: the pipeline without sources.
        fields: role -> key of `rows`, for roles that have another name or are no columns.
        rows: the training rows, texts by key.
        overrides: values of keys that replace those of `sections`, as in `tfattn.run`.
        verbose: whether to print the progress.
    """

    def __init__(
        self,
        sections: Mapping[str, Any],
        *,
        fields: Mapping[str, str],
        rows: Sequence[Row],
        overrides: Mapping[str, Any],
        verbose: bool,
    ):
        self._folder = tempfile.TemporaryDirectory(prefix="tfattn-")
        root = Path(self._folder.name)
        step = max(1, len(rows) // VALIDATION_ROWS)
        for name, some in (("rows", rows), ("validation", rows[::step])):
            lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in some)
            (root / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
        source = {"name": "jsonl", "path": str(root / "rows.jsonl"), "fields": dict(fields)}
        validation = {**source, "path": str(root / "validation.jsonl")}
        data = {**sections["data"], "source": source, "validation_source": validation}
        whole = {**sections, "name": "estimator", "data": data, "runs_folder": str(root / "runs")}
        with console.silenced(not verbose):
            stages = native.with_tensorflow("tfattn.stages")
            run = stages.open_run(whole, overrides)
            stages.run(run, "train")
            self._load(run)

    def _load(self, run: "Run") -> None:
        from tfattn.trained import ensemble

        self._run = run
        self._ensemble: TrainedEnsemble = ensemble.load(run)

    def predict(self, rows: Sequence[Row]) -> dict[str, np.ndarray]:
        """Predict rows: arrays (N, ...) by name, as `Task.predictions`."""
        parts = [self._ensemble.predict(batch) for batch in _batches(rows)]
        return {name: np.concatenate([part[name] for part in parts])[: len(rows)] for name in parts[0]}

    def __getstate__(self) -> dict[str, Any]:
        root = self._run.folder.parent
        ids = {"data": self._run.members[0].prepared.name, "run": self._run.id}
        found = {path for pattern in NEEDED for path in root.glob(pattern.format(**ids)) if path.is_file()}
        return {
            "config": self._run.config,
            "fingerprints": self._run.fingerprints,
            "files": {str(path.relative_to(root)): path.read_bytes() for path in sorted(found)},
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        native.with_tensorflow("tfattn.stages")
        from tfattn.runs.run import Run
        from tfattn.training.runtime import Runtime

        self._folder = tempfile.TemporaryDirectory(prefix="tfattn-")
        values = state["config"].values | {"runs_folder": self._folder.name}
        config = dataclasses.replace(state["config"], values=values)
        for name, content in state["files"].items():
            path = Path(self._folder.name) / values["name"] / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        self._load(Run(config, fingerprints=state["fingerprints"], runtime=Runtime(strategy="one_device").start()))


def _batches(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    """Divide rows into batches of the same size; the last is filled with copies of its first row."""
    for start in range(0, len(rows), BATCH_ROWS):
        batch = list(rows[start : start + BATCH_ROWS])
        yield batch + [batch[0]] * (BATCH_ROWS - len(batch))
