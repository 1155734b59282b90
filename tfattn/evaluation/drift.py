"""Drift: differences between new rows and training rows, in the inputs and in the predictions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from tfattn.data.preparation.input_statistics import Histogram, InputStatistics, as_text
from tfattn.evaluation.report import Section, Table, Text
from tfattn.evaluation.wording import number, percent, quoted_list
from tfattn.features import IS_LABEL, LABEL_IDS, PREDICTIONS

MIN_INDEX = 0.1  # population stability: below 0.1 a small change, above 0.25 a large one
SIGNIFICANCE = 0.01  # of all inputs together
COLUMNS = ("input", "stability index", "p-value", "", "largest change")  # of `cells`
PRIOR = 0.5  # rows added to each bin, so that an empty bin has a finite logarithm


@dataclass(frozen=True)
class InputDrift:
    """The drift of an input, or of the targets.

    Attributes:
        name: the input.
        trained: the histogram of training rows.
        new: the histogram of new rows, with the same bins.
        index: the population stability index.
        p_value: of the chi-squared test that both have the same distribution.
        is_drift: whether the index is at least MIN_INDEX and the difference is significant among all inputs.
    """

    name: str
    trained: Histogram
    new: Histogram
    index: float
    p_value: float
    is_drift: bool


def measure(statistics: InputStatistics, rows: Sequence[Mapping[str, Any]]) -> list[InputDrift]:
    """Compare the inputs of new rows with those of training rows, the largest index first.

    Sources: population stability index: Siddiqi 2006, "Credit risk scorecards", chapter 9; Pearson's chi-squared test
    of homogeneity, at the level SIGNIFICANCE divided by the number of inputs (Bonferroni).

    Args:
        statistics: of the training rows.
        rows: the raw inputs of new rows.
    """
    texts = {name: [as_text(row[name]) for row in rows] for name in statistics.inputs}
    pairs = {
        name: (trained, trained.of(texts[name], statistics.missing)) for name, trained in statistics.inputs.items()
    }
    words = statistics.words.items()
    return of_histograms(pairs | {f"{name}: unknown words": (one.unknown, one.of(texts[name])) for name, one in words})


def measure_predictions(
    trained: Mapping[str, Histogram], values: Mapping[str, np.ndarray], labels: Sequence[str]
) -> list[InputDrift]:
    """Compare the predictions for new rows with `prediction_histograms` of rows that did not train the model."""
    new = prediction_values(values, labels)
    return of_histograms({name: (old, old.of(new[name])) for name, old in trained.items() if name in new})


def prediction_histograms(values: Mapping[str, np.ndarray], labels: Sequence[str]) -> dict[str, Histogram]:
    """Count the predictions of N rows; see `prediction_values`."""
    kinds = {"predicted label": "category", "predicted labels": "category"}
    named = prediction_values(values, labels)
    return {name: Histogram.learn(kinds.get(name, "number"), texts) for name, texts in named.items()}


def prediction_values(values: Mapping[str, np.ndarray], labels: Sequence[str]) -> dict[str, list[str]]:
    """Return the predictions of N rows as texts: label and its score, labels, or number.

    Args:
        values: the predictions of a task, (N, ...) by name.
        labels: the classes.
    """
    if PREDICTIONS in values:
        return {"prediction": [str(float(value)) for value in values[PREDICTIONS]]}
    if IS_LABEL in values:
        sets = [[label for label, has in zip(labels, row, strict=True) if has] for row in values[IS_LABEL]]
        return {"predicted labels": [", ".join(some) or "none" for some in sets]}
    if LABEL_IDS in values and "scores" in values and labels:
        ids, scores = np.asarray(values[LABEL_IDS]), np.asarray(values["scores"])
        of_predicted = scores[np.arange(len(ids)), ids]
        return {
            "predicted label": [labels[index] for index in ids],
            "score of the predicted label": [f"{score:.6f}" for score in of_predicted],
        }
    return {}


def of_histograms(pairs: Mapping[str, tuple[Histogram, Histogram]]) -> list[InputDrift]:
    """Compare pairs of histograms of training rows and of new rows, the largest index first."""
    drifts = []
    for name, (trained, new) in pairs.items():
        index, p_value = compare(_counts(trained), _counts(new))
        is_drift = index >= MIN_INDEX and p_value < SIGNIFICANCE / len(pairs)
        drifts.append(InputDrift(name, trained, new, index, p_value, is_drift))
    return sorted(drifts, key=lambda drift: -drift.index)


def compare(trained: np.ndarray, new: np.ndarray) -> tuple[float, float]:
    """Compute the population stability index of two histograms (B,), and the p-value of the chi-squared test.

    Example:
        >>> compare(np.array([50, 50]), np.array([5, 5]))
        (0.0, 1.0)
    """
    old_share, new_share = ((counts + PRIOR) / (counts + PRIOR).sum() for counts in (trained, new))
    index = float(((new_share - old_share) * np.log(new_share / old_share)).sum())
    table = np.stack([trained, new])[:, (trained + new) > 0]
    if table.shape[1] < 2 or not table.sum(axis=1).all():
        return index, 1.0
    return index, float(stats.chi2_contingency(table, correction=False).pvalue)


def metrics(drifts: Sequence[InputDrift]) -> dict[str, float]:
    """Return `drift/NAME`, the population stability index of each input, and `drifted_inputs`, their number."""
    if not drifts:
        return {}
    return {f"drift/{drift.name}": drift.index for drift in drifts} | {
        "drifted_inputs": sum(drift.is_drift for drift in drifts)
    }


def warnings(drifts: Sequence[InputDrift]) -> list[str]:
    """Warn of inputs that are unlike those of training."""
    names = [drift.name for drift in drifts if drift.is_drift]
    if not names:
        return []
    return [f"The rows differ from the training rows in {quoted_list(names)}: see “Drift of the inputs”."]


def section(drifts: Sequence[InputDrift], flags: Mapping[str, int]) -> Section:
    """Return a table of the inputs, the largest drift first.

    Args:
        drifts: see `measure`.
        flags: the number of rows with a value outside of the training range, or an unknown category, by input.
    """
    words = (
        "The distribution of each input, compared with a sample of the training rows. The population stability index "
        f"is 0 for equal distributions; {MIN_INDEX} is a small change, 0.25 a large one. An input is marked if its "
        f"index is at least {MIN_INDEX} and the difference is not chance (chi-squared test, {SIGNIFICANCE:.0%} in all)."
    )
    rows = [[*cells(drift), flags.get(drift.name, 0)] for drift in drifts]
    return Section("Drift of the inputs", [Text(words), Table([*COLUMNS, "rows outside of training values"], rows)])


def cells(drift: InputDrift) -> list[str]:
    """Return the cells of an input for the COLUMNS of a table."""
    marked = "drift" if drift.is_drift else ""
    return [drift.name, number(drift.index), f"{drift.p_value:.2g}", marked, _largest_change(drift)]


def _counts(histogram: Histogram) -> np.ndarray:
    return np.array([*histogram.counts, histogram.missing], float)


def _largest_change(drift: InputDrift) -> str:
    """Describe the bin whose share of rows changes most."""
    old, new = (_counts(histogram) for histogram in (drift.trained, drift.new))
    old, new = old / max(1, old.sum()), new / max(1, new.sum())
    index = int(np.abs(new - old).argmax())
    return f"{_bin_name(drift.trained, index)}: {percent(old[index])} in training, {percent(new[index])} here"


def _bin_name(histogram: Histogram, index: int) -> str:
    bins = histogram.bins
    if index == len(bins) + 1:
        return "missing"
    if histogram.kind == "category":
        return f"“{bins[index]}”" if index < len(bins) else "other categories"
    unit = " characters" if histogram.kind == "length" else ""
    if not bins:
        return "all"
    if index == 0:
        return f"below {number(bins[0])}{unit}"
    low = f"from {number(bins[index - 1])}"
    return f"{low}{unit}" if index == len(bins) else f"{low} to {number(bins[index])}{unit}"
