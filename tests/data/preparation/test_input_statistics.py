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


def test_sampled_rows_have_the_histograms_of_the_training_rows():
    values = {"number": NUMBERS, "category": ["a"] * 300 + ["b"] * 150 + ["?"] * 50}
    inputs = {kind: Histogram.learn(kind, values[kind], missing=("?",)) for kind in values}
    rows = InputStatistics(500, inputs, ["?"]).sample(2000, seed=0)
    numbers = np.array([float(row["number"]) for row in rows])
    assert np.mean(numbers) == pytest.approx(np.mean([float(number) for number in NUMBERS]), abs=0.1)
    categories = [row["category"] for row in rows]
    shares = {value: categories.count(value) / 2000 for value in ("a", "b", "?")}
    assert shares == pytest.approx({"a": 0.6, "b": 0.3, "?": 0.1}, abs=0.04)


def test_a_column_without_values_is_sampled_as_missing():
    inputs = {kind: Histogram.learn(kind, ["?"] * 3, missing=("?",)) for kind in ("number", "category")}
    assert InputStatistics(3, inputs, ["?"]).sample(2, seed=0) == [{"number": "?", "category": "?"}] * 2
    inputs = {"number": Histogram.learn("number", [])}
    assert InputStatistics(0, inputs).sample(1, seed=0) == [{"number": ""}]
