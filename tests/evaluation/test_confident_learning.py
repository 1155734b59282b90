"""Confident learning: planted label errors are found, and nothing else where labels are predictable."""

import numpy as np
import pytest

from tfattn.evaluation.confident_learning import (
    calibrated_joint,
    class_thresholds,
    confident_joint,
    find_label_errors,
    prune_by_noise_rate,
)


def planted(num_classes, *, rows=2000, fraction=0.05, sharpness=3.0, seed=0):
    """Return given and true classes and scores; a fraction of the given classes is wrong."""
    draw = np.random.default_rng(seed)
    true = draw.choice(num_classes, rows, p=draw.dirichlet(np.full(num_classes, 5.0)))
    logits = draw.normal(size=(rows, num_classes))
    logits[np.arange(rows), true] += sharpness
    scores = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    wrong = draw.random(rows) < fraction
    given = np.where(wrong, (true + draw.integers(1, num_classes, rows)) % num_classes, true)
    return given, true, scores


@pytest.mark.parametrize("num_classes", [2, 5])
def test_perfectly_predictable_labels_have_no_errors(num_classes):
    _, true, scores = planted(num_classes, sharpness=30.0)
    found = find_label_errors(true, scores)
    assert len(found.rows) == 0 and found.estimated == 0
    np.testing.assert_allclose(found.noise, np.eye(num_classes))


@pytest.mark.parametrize("num_classes", [2, 5])
def test_planted_errors_are_found_and_counted(num_classes):
    given, true, scores = planted(num_classes, sharpness=12.0)
    wrong = given != true
    found = find_label_errors(given, scores)
    is_found = np.isin(np.arange(len(given)), found.rows)
    assert is_found[wrong].mean() > 0.98 and wrong[is_found].mean() > 0.98
    assert (found.suggested[found.rows] == true[found.rows]).mean() > 0.98
    joint = np.zeros((num_classes, num_classes))
    np.add.at(joint, (given, true), 1)
    np.testing.assert_allclose(found.joint, joint, atol=0.01 * len(given))
    assert found.joint.sum() == pytest.approx(len(given))
    np.testing.assert_allclose(found.noise.sum(axis=0), 1)


def test_errors_are_ranked_by_margin():
    given, _, scores = planted(4)
    found = find_label_errors(given, scores)
    assert len(found.rows) > 50
    margins = found.margin[found.rows]
    assert (np.diff(margins) >= 0).all() and (margins < 0).all()


@pytest.mark.parametrize("num_classes", [2, 7])
def test_the_order_of_rows_has_no_effect(num_classes):
    given, _, scores = planted(num_classes)
    order = np.random.default_rng(1).permutation(len(given))
    found, shuffled = find_label_errors(given, scores), find_label_errors(given[order], scores[order])
    assert set(order[shuffled.rows]) == set(found.rows)
    np.testing.assert_allclose(shuffled.joint, found.joint)


def test_the_threshold_of_a_class_is_its_mean_score():
    given = np.array([0, 0, 1, 1])
    scores = np.array([[0.9, 0.1, 0.0], [0.5, 0.3, 0.2], [0.2, 0.6, 0.2], [0.6, 0.2, 0.2]])
    thresholds = class_thresholds(given, scores)
    np.testing.assert_allclose(thresholds, [0.7, 0.4, np.inf])
    joint = confident_joint(given, scores, thresholds)
    # Row 1 and row 3 reach no threshold.
    np.testing.assert_allclose(joint, [[1, 0, 0], [0, 1, 0], [0, 0, 0]])
    np.testing.assert_allclose(calibrated_joint(joint, np.bincount(given, minlength=3)), 2 * joint)


def test_a_rare_class_with_low_scores_is_not_suspected():
    """The scores of a rare class are low in all rows: only the threshold of the class makes its labels plausible."""
    draw = np.random.default_rng(0)
    given = np.repeat([0, 1], [950, 50])
    of_rare = np.where(given == 1, 0.35, 0.05) + draw.uniform(-0.04, 0.04, 1000)
    found = find_label_errors(given, np.stack([1 - of_rare, of_rare], axis=1))
    assert found.joint[0, 1] == 0 and found.thresholds[1] < 0.4


@pytest.mark.parametrize("num_classes", [2, 3, 10])
@pytest.mark.parametrize("seed", range(3))
def test_results_agree_with_cleanlab(num_classes, seed):
    filters = pytest.importorskip("cleanlab.filter", reason="cleanlab is not installed")
    from cleanlab.count import compute_confident_joint, get_confident_thresholds

    given, _, scores = planted(num_classes, seed=seed)
    found = find_label_errors(given, scores)
    theirs = filters.find_label_issues(
        given, scores, filter_by="prune_by_noise_rate", return_indices_ranked_by="normalized_margin", n_jobs=1
    )
    np.testing.assert_allclose(found.thresholds, get_confident_thresholds(given, scores), atol=1e-5)
    # cleanlab rounds the joint. With several classes, it also counts rows whose best class is below its threshold.
    joint = compute_confident_joint(given, scores, calibrate=True)
    np.testing.assert_allclose(found.joint, joint, atol=1 if num_classes == 2 else 5)
    assert set(np.flatnonzero(prune_by_noise_rate(given, scores, joint) & (found.margin < 0))) == set(theirs)
    if num_classes == 2:
        assert found.rows.tolist() == theirs.tolist()
