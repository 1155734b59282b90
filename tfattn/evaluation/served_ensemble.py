"""An export, or a model on a server, as reports read it: with the attributes of a trained ensemble."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tfattn.features import (
    COLUMN_ATTENTION,
    ESSENTIAL_FEATURES,
    IN_PREDICTION_SET,
    INTERVAL_HIGH,
    INTERVAL_LOW,
    IS_LABEL,
    LABEL,
    LABEL_IDS,
    LABELS,
    PREDICTION_SET,
    PREDICTIONS,
)
from tfattn.serving.client.input_rows import InputRow
from tfattn.serving.client.local import LocalModel
from tfattn.serving.client.predict import Predictor, values
from tfattn.serving.page import card
from tfattn.tasks.calibration import Calibrator
from tfattn.tasks.operating_point import OperatingPoint

PREDICTION = "prediction"
# Predictions of permuted rows, which may go over a network: the most, and the rows of a request.
MOST_PERMUTED_ROWS, PERMUTED_BATCH = 20_000, 1024


@dataclass(frozen=True)
class ServedFields:
    """The inputs of a model; see `Preprocessor`."""

    fields: tuple[str, ...]
    reads_columns: bool


@dataclass(frozen=True)
class ServedTask:
    """What reports read of a task.

    Attributes:
        positive_id: the id of the positive label, if there is one.
        mean, deviation: of the training targets of a regression.
    """

    positive_id: int | None = None
    mean: float = 0.0
    deviation: float = 1.0
    model: None = None


class ServedEnsemble:
    """A model that is not in memory as layers, for the reports of row tasks.

    Args:
        opened: the model.
        labels: its labels, in the order of the scores, and maybe other labels, which are never predicted.
        folder: the folder that the names of images are relative to.
        batch_size: the number of rows in a batch.
        targets: facts about the training targets, if they are known: see `Target.facts`.

    Attributes:
        preprocessor, task, labels, operating_point, calibrator: see `TrainedEnsemble`; of the calibrator only the
            coverage is known.
        trained_on: the training file.
    """

    most_permuted_rows = MOST_PERMUTED_ROWS

    def __init__(
        self,
        opened: Predictor,
        *,
        labels: Sequence[str] = (),
        folder: Path = Path(),
        batch_size: int = 64,
        targets: Mapping[str, Any] | None = None,
    ):
        self.labels = tuple(labels)
        self.trained_on = opened.trained_on
        self._opened, self._folder, self._batch_size = opened, folder, batch_size
        known = card.read(opened.folder) if isinstance(opened, LocalModel) else None
        kinds = {column.kind for column in known.inputs.values()} if known else set()
        is_table = bool(opened.numeric) or "category" in kinds
        self.preprocessor = ServedFields(tuple(opened.trained_on.columns), reads_columns=is_table)
        positive = known.positive if known else None
        facts = {name: targets[name] for name in ("mean", "deviation") if name in (targets or {})}
        self.task = ServedTask(self.labels.index(positive) if positive in self.labels else None, **facts)
        threshold = known.threshold if known and positive else None
        self.operating_point = None if threshold is None else OperatingPoint(threshold)
        covers = known is not None and known.coverage is not None
        self.calibrator = Calibrator(split="", rows=0, coverage=known.coverage) if covers else None

    def outputs(self, rows: Sequence[InputRow], *, batch_size: int | None = None) -> list[dict[str, Any]]:
        """Predict rows; return the named outputs of each."""
        batch_size = batch_size or self._batch_size
        made = [values(row, self._opened, self._folder) for row in rows]
        starts = range(0, len(made), batch_size)
        return [output for start in starts for output in self._opened.predict(made[start : start + batch_size])]

    def predict_each(self, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, np.ndarray]]:
        """Predict N raw rows; see `TrainedEnsemble.predict_each`."""
        made = [InputRow({name: row[name] for name in self.preprocessor.fields}, row["row"]) for row in rows]
        return [self.arrays(self.outputs(made, batch_size=PERMUTED_BATCH))]

    def arrays(self, outputs: Sequence[Mapping[str, Any]]) -> dict[str, np.ndarray]:
        """Convert the named outputs of N rows to the predictions of a task, arrays (N, ...) by name."""
        first = outputs[0]
        explained = (name for name in (ESSENTIAL_FEATURES, COLUMN_ATTENTION) if name in first)
        found = {name: np.array([output[name] for output in outputs], np.float64) for name in explained}
        if PREDICTION in first:
            names = {PREDICTIONS: PREDICTION, INTERVAL_LOW: INTERVAL_LOW, INTERVAL_HIGH: INTERVAL_HIGH}
            return found | {
                name: np.array([output[key] for output in outputs], np.float64)
                for name, key in names.items()
                if key in first
            }
        scores = [[output["scores"].get(label, 0.0) for label in self.labels] for output in outputs]
        found["scores"] = np.array(scores, np.float64)
        if PREDICTION_SET in first:
            sets = [[label in output[PREDICTION_SET] for label in self.labels] for output in outputs]
            found[IN_PREDICTION_SET] = np.array(sets, bool)
        if LABELS in first:
            has = [[label in output[LABELS] for label in self.labels] for output in outputs]
            return found | {IS_LABEL: np.array(has, bool)}
        return found | {LABEL_IDS: np.array([self.labels.index(output[LABEL]) for output in outputs])}
