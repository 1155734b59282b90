"""Drift: rows of the same distribution have none, shifted rows have some."""

import numpy as np
import pytest

from tfattn.data.preparation.input_statistics import Histogram, InputStatistics
from tfattn.evaluation import drift

DRAW = np.random.default_rng(0)


def rows(count, *, shift=0.0, towns=("a", "b", "c"), length=40):
    return [
        {
            "age": f"{DRAW.normal(40 + shift, 10):.1f}",
            "town": str(DRAW.choice(towns)),
            "text": "x" * int(DRAW.integers(1, length)),
        }
        for _ in range(count)
    ]


@pytest.fixture(scope="module")
def statistics():
    kinds = {"age": "number", "town": "category", "text": "length"}
    trained = rows(2000)
    inputs = {name: Histogram.learn(kind, [row[name] for row in trained], ("?",)) for name, kind in kinds.items()}
    return InputStatistics(len(trained), inputs, ["?"])


@pytest.mark.parametrize(
    ("changes", "drifted"),
    [
        ({}, set()),
        ({"shift": 15.0}, {"age"}),
        ({"towns": ("a", "d")}, {"town"}),
        ({"length": 400}, {"text"}),
    ],
)
def test_inputs_of_another_distribution_drift(statistics, changes, drifted):
    found = drift.measure(statistics, rows(300, **changes))
    assert {one.name for one in found if one.is_drift} == drifted
    assert [one.index for one in found] == sorted((one.index for one in found), reverse=True)
    assert drift.metrics(found)["drifted_inputs"] == len(drifted)
    assert bool(drift.warnings(found)) == bool(drifted)


def test_few_rows_differ_by_chance(statistics):
    found = drift.measure(statistics, rows(8))
    assert max(one.index for one in found) > drift.MIN_INDEX
    assert not any(one.is_drift for one in found)


def test_values_that_are_missing_are_drift(statistics):
    found = drift.measure(statistics, [{**row, "age": "?"} for row in rows(100)])
    assert found[0].name == "age" and found[0].is_drift
    [_, table] = drift.section(found, {"age": 7}).parts
    assert table.rows[0][-1] == 7 and "missing: 0.0% in training, 100.0% here" in table.rows[0]
