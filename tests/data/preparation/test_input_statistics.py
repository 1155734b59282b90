"""Histograms of inputs: every row is counted once, in the bins of the training rows."""

import numpy as np
import pytest

from tfattn.data.preparation.input_statistics import BINS, MAX_VALUES, Histogram, InputStatistics
from tfattn.errors import DataError

NUMBERS = [str(number) for number in np.random.default_rng(0).normal(size=500)]


@pytest.mark.parametrize("kind", ["number", "category", "length"])
@pytest.mark.parametrize("values", [NUMBERS, ["1"] * 7, ["", "?", "2", "?"], []])
def test_every_row_is_counted_once(kind, values):
    learned = Histogram.learn(kind, values, missing=("", "?"))
    assert sum(learned.counts) + learned.missing == len(values)
    assert learned.missing == (0 if kind == "length" else sum(value in ("", "?") for value in values))
    assert learned.of(values, ("", "?")) == learned


def test_bins_have_equal_numbers_of_training_rows():
    assert Histogram.learn("number", NUMBERS).counts == [len(NUMBERS) // BINS] * BINS
    assert Histogram.learn("length", ["x" * length for length in range(100)]).counts == [10] * BINS


def test_rare_and_new_categories_are_counted_together():
    values = [str(number) for number in range(2 * MAX_VALUES)] + ["0"] * 5
    learned = Histogram.learn("category", values)
    assert learned.bins[0] == "0" and learned.counts[0] == 6 and learned.counts[-1] == MAX_VALUES
    assert learned.of([" 0 ", "new", "3e9"]).counts[-1] == 2


def test_statistics_are_read_as_they_were_written(tmp_path):
    inputs = {kind: Histogram.learn(kind, NUMBERS[:30]) for kind in ("number", "category", "length")}
    statistics = InputStatistics(30, inputs, ["?"], {"mean": 1.5})
    statistics.write(tmp_path / "statistics.json")
    assert InputStatistics.read(tmp_path / "statistics.json", remedy="") == statistics
    (tmp_path / "statistics.json").write_text("{}")
    with pytest.raises(DataError, match="Export it again"):
        InputStatistics.read(tmp_path / "statistics.json", remedy="Export it again.")
