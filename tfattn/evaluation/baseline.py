"""The comparison with a baseline: a simple model that is trained on the same rows in seconds."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from tfattn import console
from tfattn.data.examples.class_targets import Classes
from tfattn.data.examples.label_targets import LabelSets
from tfattn.data.examples.number_targets import Numbers
from tfattn.data.preparation.survey import complete_rows
from tfattn.data.preparation.units import numbered_parts
from tfattn.data.section import Data
from tfattn.data.split_config import TEST, TRAIN
from tfattn.errors import DataError
from tfattn.evaluation.metrics import bootstrap_interval
from tfattn.evaluation.wording import between, count, number
from tfattn.features import IS_LABEL, LABEL_IDS, LABEL_INDICATORS, PREDICTIONS, TARGET_VALUES
from tfattn.formats.source import Row
from tfattn.runs.data import build_data
from tfattn.runs.run import Run
from tfattn.trained.predictions import SplitPredictions

MAX_TRAINING_ROWS = 5_000
READING_SECONDS = 30


@dataclass(frozen=True)
class Measure:
    """A metric that is a quotient of sums over rows.

    Attributes:
        metric: the name of the metric.
        kind: the kind of the targets, see `train_baseline`.
        target, prediction: the names of the targets and of the predictions.
        terms: returns numerators and denominators (N, 2) of true and predicted values.
        is_loss: whether lower is better.
    """

    metric: str
    kind: str
    target: str
    prediction: str
    terms: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
    is_loss: bool = False

    def sums(self, true: np.ndarray, predicted: np.ndarray) -> np.ndarray:
        """Return numerator and denominator of each row, (N, 2)."""
        return np.stack(np.broadcast_arrays(*self.terms(true, predicted)), axis=-1).astype(float)

    def value(self, sums: np.ndarray) -> np.ndarray:
        """Return the metric (...) of sums (..., 2)."""
        return sums[..., 0] / np.maximum(sums[..., 1], 1e-12)

    def loss(self, true: np.ndarray, predicted: np.ndarray) -> float:
        """Return the metric of all rows, negative if higher is better."""
        value = float(self.value(self.sums(true, predicted).sum(axis=0)))
        return value if self.is_loss else -value


MEASURES: dict[type, Measure] = {
    Classes: Measure("accuracy", "class", LABEL_IDS, LABEL_IDS, lambda true, found: (true == found, 1.0)),
    LabelSets: Measure(
        *("micro_f1", "classes", LABEL_INDICATORS, IS_LABEL),
        lambda true, found: (2.0 * ((true > 0) & (found > 0)).sum(1), (true > 0).sum(1) + (found > 0).sum(1)),
    ),
    Numbers: Measure(
        *("mean_absolute_error", "number", TARGET_VALUES, PREDICTIONS),
        lambda true, found: (np.abs(true - found), 1.0),
        is_loss=True,
    ),
}


@dataclass(frozen=True)
class Comparison:
    """The comparison of a model with a baseline on the same rows.

    Attributes:
        name: the name of the baseline.
        metric: the name of the metric.
        baseline: the metric of the baseline.
        difference, low, high: by how much the model is better, and the 95 % interval of the paired difference.
        training_rows: the number of training rows of the baseline.
    """

    name: str
    metric: str
    baseline: float
    difference: float
    low: float
    high: float
    training_rows: int

    @property
    def metrics(self) -> dict[str, float]:
        """The comparison as metrics by flat names."""
        return {
            f"trained_baseline_{self.metric}": self.baseline,
            "better_than_trained_baseline": self.difference,
            "better_than_trained_baseline_low": self.low,
            "better_than_trained_baseline_high": self.high,
        }

    @property
    def sentence(self) -> str:
        """The comparison as a sentence."""
        verdict = "better" if self.low > 0 else "worse" if self.high < 0 else "not better"
        return (
            f"Trained baseline: {self.name}, trained on {count(self.training_rows, 'row')} in seconds, has "
            f"{self.metric.replace('_', ' ')} {number(self.baseline)}. The model is {verdict}: the difference is "
            f"{number(self.difference)} (95% interval {between(self.low, self.high)})."
        )


def compare(run: Run, predictions: SplitPredictions) -> Comparison | None:
    """Train a baseline on the training rows of a run, and compare it on the evaluated rows.

    A failure of the baseline is reported, and does not end the evaluation.

    Args:
        run: the evaluated run.
        predictions: the predictions of its models.

    Returns:
        the comparison; None for tasks without baseline, or if it failed.
    """
    try:
        data = build_data(run.members[0].config)
        measure = MEASURES.get(type(data.targets))
        if measure is None or measure.prediction not in predictions.values or data.source.has_examples:
            return None
        return _compare(run, data, predictions, measure)
    except Exception as error:  # whatever a source or scikit-learn raises: the metrics of the model are not affected
        console.note(f"note: the evaluation has no trained baseline: {type(error).__name__}: {error}")
        return None


def _compare(run: Run, data: Data, predictions: SplitPredictions, measure: Measure) -> Comparison:
    from tfattn.evaluation.baseline_models import train_baseline  # scikit-learn and pandas take a second to import

    # Folds have different validation rows: the first fold is compared. They have the same test rows.
    members = run.datasets if predictions.split == TEST else run.datasets[:1]
    evaluated = {row["row"] for row in members[0].rows(predictions.split)}
    held_out = [
        {row["row"] for split in member.facts["splits"] if split != TRAIN for row in member.rows(split)}
        for member in members
    ]
    data.targets.use(members[0].facts["targets"])
    rows = list(_training_rows(data, set.intersection(*held_out), members[0].facts["splits"][TRAIN]["rows"]))
    targets = np.array([data.targets.encode(row)[measure.target] for row in rows])
    preprocessor = members[0].preprocessor()
    model = train_baseline(preprocessor, [row.fields for row in rows], targets, kind=measure.kind, loss=measure.loss)
    compared = [index for index, row in enumerate(predictions.rows) if row["row"] in evaluated]
    true = predictions.targets[measure.target][compared]
    baseline = measure.sums(true, model.predict([predictions.rows[index] for index in compared]))
    own = measure.sums(true, predictions.values[measure.prediction][compared])
    sign = -1 if measure.is_loss else 1

    def difference(sums: np.ndarray) -> np.ndarray:
        return sign * (measure.value(sums[..., :2]) - measure.value(sums[..., 2:]))

    sums = np.concatenate([own, baseline], axis=1)
    low, high = bootstrap_interval(sums, difference)
    value = float(measure.value(baseline.sum(axis=0)))
    mean = float(difference(sums.sum(axis=0)))
    return Comparison(model.name, measure.metric, value, mean, low, high, len(rows))


def _training_rows(data: Data, held_out: set[str], total: int) -> Iterator[Row]:
    """Yield evenly spaced training rows, at most MAX_TRAINING_ROWS of about `total`."""
    start, step = time.monotonic(), max(1, -(-total // MAX_TRAINING_ROWS))
    units = (unit for unit in numbered_parts(data) if data.sources[unit.source] is data.source)
    rows = (row for unit in units for row in complete_rows(data, unit) if row.where not in held_out)
    for index, row in enumerate(rows):
        if time.monotonic() - start > READING_SECONDS:
            raise DataError("reading the training rows takes too long", expected=f"at most {READING_SECONDS} s")
        if index % step == 0:
            yield row
