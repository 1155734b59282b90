"""Drift: rows of the same distribution have none, shifted rows have some."""

import numpy as np
import pytest

from tfattn.data.preparation.input_statistics import Histogram, InputStatistics, WordStatistics
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


def test_texts_with_other_words_drift_at_equal_lengths():
    def texts(words, count):
        return [" ".join(DRAW.choice(words, 12)) for _ in range(count)]

    known, other = [f"a{number}" for number in range(50)], [f"b{number}" for number in range(50)]
    trained = texts(known, 400)
    statistics = InputStatistics(
        400, {"text": Histogram.learn("length", trained)}, words={"text": WordStatistics.learn(trained)}
    )

    def drifted(values):
        return {one.name for one in drift.measure(statistics, [{"text": text} for text in values]) if one.is_drift}

    assert drifted(texts(known, 200)) == set()
    assert "text: unknown words" in drifted(texts([*known[:40], *other[:10]], 200))


def test_chinese_words_are_characters():
    learned = WordStatistics.learn(["漏油在大厅", "漏水在大厅"] * 20)
    assert {"漏", "大"} <= set(learned.words)
    assert sum(learned.of(["漏漏漏漏"]).counts) == 1


def predictions(share, count=400):
    ids = (DRAW.random(count) < share).astype(int)
    top = DRAW.uniform(0.6, 0.9, count)
    scores = np.where(ids[:, None] == np.arange(2), top[:, None], 1 - top[:, None])
    return {"label_ids": ids, "scores": scores}


def test_labels_that_are_predicted_more_often_drift():
    trained = drift.prediction_histograms(predictions(0.3), ["no", "yes"])
    assert set(trained) == {"predicted label", "score of the predicted label"}
    same = drift.measure_predictions(trained, predictions(0.3), ["no", "yes"])
    more = drift.measure_predictions(trained, predictions(0.7), ["no", "yes"])
    assert not any(one.is_drift for one in same)
    assert [one.name for one in more if one.is_drift] == ["predicted label"]


def test_predicted_numbers_and_label_sets_drift():
    numbers = drift.prediction_histograms({"predictions": DRAW.normal(size=500)}, [])
    [found] = drift.measure_predictions(numbers, {"predictions": DRAW.normal(2.0, size=200)}, [])
    assert found.name == "prediction" and found.is_drift
    sets = drift.prediction_histograms({"is_label": np.eye(2, dtype=bool)[[0, 1] * 100]}, ["a", "b"])
    [found] = drift.measure_predictions(sets, {"is_label": np.ones((100, 2), bool)}, ["a", "b"])
    assert found.is_drift and found.new.counts == [0, 0, 100]
