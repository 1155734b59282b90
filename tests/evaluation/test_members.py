"""Members of an ensemble compared with the ensemble."""

import numpy as np
import pytest

from tfattn.evaluation.members import Spread, dots
from tfattn.evaluation.metrics import classification
from tfattn.trained.predictions import MemberPredictions

LABELS = ["no", "yes"]


def member(name, right, rows=10):
    true = np.arange(rows) % 2
    return MemberPredictions(
        name, {"label_ids": np.where(np.arange(rows) < right, true, 1 - true)}, {"label_ids": true}
    )


def spread_of(some):
    alone = {one.name: classification(one.targets["label_ids"], one.values["label_ids"], LABELS) for one in some}
    return Spread("accuracy", alone)


def test_the_spread_of_three():
    spread = spread_of([member("seed 7", 6), member("seed 8", 9), member("seed 9", 9)])
    assert spread.metrics == pytest.approx(
        {"accuracy_members_min": 0.6, "accuracy_members_mean": 0.8, "accuracy_members_max": 0.9}
    )
    assert spread.facts == {"single members": "60.0% to 90.0%, mean 80.0%"}


def test_a_single_model_has_no_spread(predictions):
    alone = Spread("accuracy", {})
    assert alone.metrics == alone.facts == {} and alone.sections({}, predictions([], {}, {})) == []


def test_metrics_that_are_no_fractions_are_formatted_as_numbers():
    alone = {f"seed {number}": {"mean_absolute_error": value} for number, value in ((7, 7.5), (8, 12.25))}
    assert Spread("mean_absolute_error", alone, is_fraction=False).in_words == "7.5 to 12.25, mean 9.875"


@pytest.mark.parametrize(
    ("rows", "num_rows", "words"),
    [
        ((10, 10), 10, "The ensemble predicts their mean"),
        ((10, 12), 22, "by the member that was not trained on it"),
        ((10, 10, 12, 12), 22, "predicted by the members that were not trained on it"),
    ],
    ids=["seeds", "folds", "seeds of folds"],
)
def test_the_rows_of_each_member_are_stated(rows, num_rows, words, predictions):
    some = [member(f"model {number}", 8, rows=size) for number, size in enumerate(rows)]
    spread = spread_of(some)
    together = {**classification(np.zeros(num_rows, int), np.zeros(num_rows, int), LABELS), **spread.metrics}
    predicted = predictions([{"row": str(row)} for row in range(num_rows)], {}, {}, members=some)
    ((text, picture),) = [section.parts for section in spread.sections(together, predicted)]
    assert text.text.startswith(f"{len(rows)} models were trained.") and words in text.text
    assert "the ensemble 100.0%" in text.text and "model 0" in picture.svg


def test_the_plot_has_a_dot_per_member_and_for_the_ensemble():
    spread = spread_of([member("seed 7", 6), member("seed 8", 9)])
    axes = dots(spread, spread.alone["seed 8"]).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["seed 7", "seed 8", "ensemble"]
    assert [text.get_text() for text in axes.texts] == ["60.0%", "90.0%", "90.0%"]
    assert axes.get_xlim()[1] <= 1
