"""Permutation importance: deciding columns have the highest importance, ignored columns none."""

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier

from tfattn.evaluation import permutation_importance

COLUMNS = ["strong", "weak", "ignored"]
DRAW = np.random.default_rng(0)
NUMBERS = DRAW.normal(size=(300, 3))
ROWS = [{"row": f"t.tsv:{n}", **dict(zip(COLUMNS, map(str, line), strict=True))} for n, line in enumerate(NUMBERS)]
TRUE = (4 * NUMBERS[:, 0] + NUMBERS[:, 1] > 0).astype(int)


def ask(rows, weights=(4.0, 1.0, 0.0)):
    numbers = np.array([[float(row[name]) for name in COLUMNS] for row in rows])
    high = 1 / (1 + np.exp(-numbers @ np.array(weights)))
    return np.stack([1 - high, high], axis=1)


def permuted(ask, rows, columns, true, **options):
    """The importance of columns to a single model."""
    options["measure"] = permutation_importance.of_labels(true, options.pop("positive"))
    whole, alone = permutation_importance.permutation(lambda some: [ask(some)], rows, columns, true, **options)
    np.testing.assert_array_equal(whole.rises, alone.rises)
    return whole


def shuffled(ask=ask, **options):
    return permuted(ask, ROWS, COLUMNS, TRUE, **{"positive": 1, "seed": 3} | options)


def test_the_deciding_column_is_first_and_ignored_columns_have_importance_0():
    found = shuffled()
    assert list(np.argsort(-found.mean)) == [0, 1, 2]
    low, high = found.interval
    assert low[0] > high[1] and low[1] > 0
    assert found.mean[2] == low[2] == high[2] == 0 and not found.drops[:, 2].any()
    assert found.metric == "ROC AUC" and found.rises.shape == found.drops.shape == (10, 3)


def test_a_small_effect_is_detected_at_a_roc_auc_of_1():
    rows = [{"big": str(sign), "small": str(sign)} for sign in (-1, 1) * 50]
    true = np.array([0, 1] * 50)

    def saturated(rows):
        high = 1 / (1 + np.exp(-np.array([6 * int(row["big"]) + int(row["small"]) for row in rows])))
        return np.stack([1 - high, high], axis=1)

    found = permuted(saturated, rows, ["big", "small"], true, positive=1, seed=0)
    assert not found.drops[:, 1].any() and found.interval[0][1] > 0


def test_without_a_positive_label_the_metric_is_accuracy():
    found = shuffled(positive=None)
    assert found.metric == "accuracy" and found.drops[:, 0].mean() > found.drops[:, 1].mean() > 0
    np.testing.assert_array_equal(found.rises, shuffled().rises)


def test_rows_of_one_class_use_accuracy():
    found = permuted(ask, ROWS, COLUMNS, np.ones_like(TRUE), positive=1, seed=0, repeats=2)
    assert found.metric == "accuracy" and np.isfinite(found.rises).all()


def test_equal_seeds_shuffle_equally():
    np.testing.assert_array_equal(shuffled().rises, shuffled().rises)
    assert np.any(shuffled().rises != shuffled(seed=4).rises)


def test_many_rows_are_sampled_and_other_columns_unchanged():
    seen = []

    def watching(rows):
        seen.append(rows)
        return ask(rows)

    found = shuffled(watching, most_rows=50, repeats=4)
    assert found.rows == 50 and [len(rows) for rows in seen] == [50, 200, 200, 200]
    places = {row["row"]: row for row in ROWS}
    strong = seen[1]
    assert all(row["weak"] == places[row["row"]]["weak"] for row in strong)
    assert any(row["strong"] != places[row["row"]]["strong"] for row in strong)
    for repeat in range(4):  # values move, none is lost
        part = strong[50 * repeat : 50 * (repeat + 1)]
        assert sorted(row["strong"] for row in part) == sorted(places[row["row"]]["strong"] for row in part)


def test_a_score_of_0_has_a_finite_loss():
    assert np.isfinite(shuffled(lambda rows: ask(rows).round()).rises).all()


def test_intervals_have_their_nominal_coverage():
    draws = np.random.default_rng(1).normal(loc=2.0, size=(10, 4000))
    low, high = permutation_importance.t_interval(draws)
    assert np.mean((low <= 2.0) & (high >= 2.0)) == pytest.approx(0.95, abs=0.012)


def test_an_interval_by_hand():
    low, high = permutation_importance.t_interval(np.array([[1.0], [2.0], [3.0]]))
    # t of 2 degrees of freedom: 4.3027; standard deviation 1.
    assert (low[0], high[0]) == pytest.approx((2 - 4.3027 / 3**0.5, 2 + 4.3027 / 3**0.5), abs=1e-4)


def test_an_ensemble_is_measured_as_the_mean_of_its_members():
    def other(rows):
        return ask(rows, weights=(0.0, 3.0, 0.0))

    whole, first, second = permutation_importance.permutation(
        lambda rows: [ask(rows), other(rows)],
        ROWS,
        COLUMNS,
        TRUE,
        measure=permutation_importance.of_labels(TRUE, 1),
        seed=3,
    )
    alone = shuffled(lambda rows: (ask(rows) + other(rows)) / 2)
    np.testing.assert_allclose(whole.rises, alone.rises)
    np.testing.assert_allclose(first.rises, shuffled().rises)
    assert not second.rises[:, 0].any() and second.mean[1] > 0


def test_columns_with_an_interval_around_0_are_not_important():
    rises = np.array([[0.3, 0.01, 0.0, -0.02, 0.5], [0.31, -0.02, 0.0, -0.03, 0.48], [0.29, 0.04, 0.0, -0.01, 0.52]])
    found = permutation_importance.Importance(list("abcde"), rises, rises, "log loss", "accuracy", 10)
    assert found.mean[1] > 0 and found.interval[0][1] < 0
    assert found.important.tolist() == [4, 0]
    nothing = permutation_importance.Importance(list("abcde"), 0 * rises, rises, "log loss", "accuracy", 10)
    assert nothing.important.tolist() == []


def test_stability_by_hand():
    members = np.array([[0.5, 0.3, 0.1, 0.0], [0.6, 0.2, 0.1, 0.05], [0.1, 0.3, 0.5, 0.7]])
    found = permutation_importance.stability(members, first=2)
    # The first two rank alike (1), the third the other way round (-1 with both).
    assert found.correlation == pytest.approx((1 - 1 - 1) / 3)
    np.testing.assert_allclose(found.among_first, [2 / 3, 2 / 3, 1 / 3, 1 / 3])


def test_a_column_without_importance_is_never_a_top_column():
    found = permutation_importance.stability(np.array([[1.0, 0.0, 0.0], [1.0, 0.0, -0.1]]))
    np.testing.assert_array_equal(found.among_first, [1, 0, 0])


def test_stability_needs_two_members_with_rankings():
    assert permutation_importance.stability(np.array([[1.0, 0.5]])) is None
    assert permutation_importance.stability(np.array([[0.0, 0.0], [1.0, 0.5]])).correlation == 0.0


def test_three_planted_columns_of_fourteen_come_first():
    draw = np.random.default_rng(0)
    numbers, planted = draw.normal(size=(700, 14)), draw.choice(14, 3, replace=False)
    true = (numbers[:, planted[0]] * numbers[:, planted[1]] + numbers[:, planted[2]] > 0).astype(int)
    model = ExtraTreesClassifier(50, random_state=0).fit(numbers[:500], true[:500])
    names = [f"column {number}" for number in range(14)]
    rows = [dict(zip(names, map(str, line), strict=True)) for line in numbers[500:]]

    def scores(rows):
        return model.predict_proba(np.array([[float(row[name]) for name in names] for row in rows]))

    found = permuted(scores, rows, names, true[500:], positive=1, seed=0, repeats=3)
    assert set(np.argsort(-found.mean)[:3]) == set(planted)


def test_predictions_over_a_network_are_bounded():
    numbers = []

    def counted(rows):
        numbers.append(len(rows))
        return ask(rows)

    found = shuffled(counted, most_predictions=1800)
    assert found.rows == 120 and found.rises.shape == (5, 3)
    assert sum(numbers) == 120 + 1800 and list(np.argsort(-found.mean)) == [0, 1, 2]
    assert shuffled(most_predictions=30).rows == permutation_importance.MIN_ROWS
