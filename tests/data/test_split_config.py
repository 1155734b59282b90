"""The split: exact fractions, stratification, equal results for equal seeds."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfattn.data.split_config import Split
from tfattn.errors import ConfigError, DataError

class_sizes = st.lists(st.integers(2, 40), min_size=1, max_size=6)
shares = st.sampled_from([(0.2, 0.0), (0.1, 0.1), (0.34, 0.33), (0.5, 0.0), (0.05, 0.3), (0.7, 0.2)])


def classes_of(sizes):
    return [f"class {number}" for number, size in enumerate(sizes) for _ in range(size)]


@settings(deadline=None)
@given(sizes=class_sizes, shares=shares, seed=st.integers(0, 2**31 - 1), stratify=st.booleans())
def test_every_row_is_in_one_part(sizes, shares, seed, stratify):
    classes = classes_of(sizes)
    parts = Split(validation=shares[0], test=shares[1], stratify=stratify).assign(classes, seed)
    assert sorted(np.concatenate(list(parts.values()))) == list(range(len(classes)))
    assert all((np.diff(rows) > 0).all() for rows in parts.values())


@settings(deadline=None)
@given(sizes=class_sizes, shares=shares, seed=st.integers(0, 1000))
def test_each_class_has_its_fraction_and_a_row_in_each_part(sizes, shares, seed):
    classes = classes_of(sizes)
    parts = Split(validation=shares[0], test=shares[1]).assign(classes, seed)
    counts = {part: Counter(classes[row] for row in rows) for part, rows in parts.items()}
    for number, size in enumerate(sizes):
        name = f"class {number}"
        assert counts["train"][name] >= 1
        assert counts["validation"][name] >= 1
        if shares[1] and size >= 3 and shares[0] * size <= size - 3:
            assert counts["test"][name] >= 1
        exact = shares[0] * size
        assert abs(counts["validation"][name] - exact) < 1 or counts["validation"][name] in (1, size - 1)


def test_totals_follow_the_largest_remainder_method():
    parts = Split(validation=0.2).assign(classes_of([204, 168, 68, 40]), seed=7)
    assert {part: len(rows) for part, rows in parts.items()} == {"train": 384, "validation": 96}
    classes = np.array(classes_of([7, 7, 7, 7]))  # 1.4 each, 5.6 in all
    parts = Split(validation=0.2).assign(classes, seed=7)
    assert sorted(Counter(classes[parts["validation"]]).values()) == [1, 1, 2, 2]


def test_the_assignment_depends_only_on_the_seed():
    classes = classes_of([30, 30])
    first, again, other = (Split().assign(classes, seed)["validation"].tolist() for seed in (1, 1, 2))
    assert first == again != other
    # Should this ever change, everybody's data would be divided anew.
    assert Split().assign(["a"] * 10, seed=7)["validation"].tolist() == [0, 8]


def test_a_class_with_one_row_is_located():
    with pytest.raises(DataError) as error:
        Split().assign(["a", "b", "a"], seed=1, locations=["x.csv:2", "x.csv:3", "x.csv:4"])
    assert str(error.value).startswith("x.csv:3: the class 'b' has one row: expected at least 2, one to train and one")
    with pytest.raises(DataError, match="the class 'b' has one row"):
        Split(stratify=False).assign(["a", "b", "a"], seed=1)


def test_all_classes_with_one_row_are_named_at_once():
    classes = ["a", "b", "a", "c", *(f"d{number}" for number in range(100))]
    with pytest.raises(DataError) as error:
        Split().assign(classes, seed=1, locations=[f"x.csv:{line}" for line in range(2, 106)])
    message = str(error.value)
    assert message.startswith("x.csv:3: 102 classes have one row each: expected at least 2, one to train and one to ")
    assert "received 'b' in line 3, 'c' in line 5, 'd0' in line 6, " in message
    assert "'d17' in line 23 and 82 more. Add rows of such classes, take them out" in message


def test_numbers_with_one_row_are_reported_as_numbers():
    prices = [f"{number % 30}.5" for number in range(59)]
    with pytest.raises(DataError) as error:
        Split().assign(prices, seed=1, locations=[f"x.csv:{line}" for line in range(2, 61)])
    assert str(error.value).startswith(
        "x.csv: the column of the label seems to hold numbers: expected a few classes, each in several rows, received "
        "30 different values in 59 rows, 1 of them in one row each, such as 29.5. Numbers are no classes: take a "
    )
    Split().assign(prices[:58] + prices[28:], seed=1)  # several rows of each: somebody may mean it


def test_without_validation_rows_one_row_is_enough():
    parts = Split().assign(["a", "b", "a"], seed=1, with_validation=False)
    assert {part: rows.tolist() for part, rows in parts.items()} == {"train": [0, 1, 2]}


def test_training_rows_must_remain():
    with pytest.raises(ConfigError, match=r"no rows are left for training.*received 0.6 \+ 0.4"):
        Split(validation=0.6, test=0.4)


SAMPLES = [f"sample {number // 4}" for number in range(80)]  # 20 of 4 rows each
OF_SAMPLES = ["real", "noise"] * 40


def in_samples(classes=OF_SAMPLES, samples=SAMPLES, *, seed=7, **options):
    return Split(group="sample", **options).assign(classes, seed, groups=samples)


def samples_of(rows, samples=SAMPLES):
    return {samples[row] for row in rows}


@settings(deadline=None)
@given(
    samples=st.lists(st.integers(0, 11), min_size=12, max_size=60),
    shares=st.sampled_from([(0.2, 0.2), (0.34, 0.0), (0.1, 0.3)]),
    stratify=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_a_group_is_in_one_part(samples, shares, stratify, seed):
    if len(set(samples)) < 4:
        return
    classes = OF_SAMPLES[: len(samples)]
    parts = in_samples(classes, samples, seed=seed, validation=shares[0], test=shares[1], stratify=stratify)
    assert sorted(np.concatenate(list(parts.values()))) == list(range(len(samples)))
    groups = [samples_of(rows, samples) for rows in parts.values()]
    assert sum(map(len, groups)) == len(set(samples))


@pytest.mark.parametrize("share", [0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9])
def test_fractions_are_met_if_whole_groups_allow(share):
    parts = in_samples(validation=share)
    assert len(parts["validation"]) == pytest.approx(share * 80, abs=2)
    assert Counter(OF_SAMPLES[row] for row in parts["validation"])["real"] == len(parts["validation"]) / 2


def test_fractions_count_all_rows_and_few_groups_are_divided_approximately():
    parts = in_samples(validation=0.25, test=0.5)
    assert {part: len(rows) for part, rows in parts.items()} == {"train": 20, "test": 40, "validation": 20}
    assert {part: len(rows) for part, rows in in_samples(OF_SAMPLES[:12], SAMPLES[:12], validation=0.1).items()} == {
        "train": 8,
        "validation": 4,
    }
    with pytest.raises(DataError, match="too few groups to divide: expected at least 2, received 1"):
        in_samples(OF_SAMPLES[:4], SAMPLES[:4])


@pytest.mark.parametrize("groups", [None, SAMPLES])
@pytest.mark.parametrize("test", [0.0, 0.1])
def test_each_row_that_is_not_held_out_is_in_one_validation_fold(groups, test):
    folds = [Split(folds=5, fold=fold, test=test).assign(OF_SAMPLES, seed=7, groups=groups) for fold in range(5)]
    aside = folds[0].get("test", np.array([], int)).tolist()
    assert len(aside) == test * 80
    assert all(parts.get("test", np.array([], int)).tolist() == aside for parts in folds)
    measuring = [row for parts in folds for row in parts["validation"].tolist()]
    assert sorted([*measuring, *aside]) == list(range(80))
    for parts in folds:
        assert sorted(np.concatenate(list(parts.values()))) == list(range(80))
        assert not groups or not samples_of(parts["train"]) & samples_of(parts["validation"])


def test_a_small_test_fraction_with_folds_needs_no_more_rows():
    parts = Split(folds=4, test=0.01).assign(OF_SAMPLES, seed=7)
    assert len(parts["test"]) == 2  # one of each class


def test_rows_are_held_out_by_their_values():
    split = Split(hold_out={"panel": ["A", "B"], "run": ["9"]}, group="sample")
    assert split.roles == ("sample", "panel", "run")
    rows = [("A", "1"), (" B ", "1"), ("C", "9"), ("C", "1"), ("a", "99")]
    assert [split.is_held_out({"panel": panel, "run": run}) for panel, run in rows] == [True, True, True, False, False]
    assert Split().roles == () and not Split().is_held_out({"panel": "A"})


@given(st.integers(0, 1000), st.booleans(), st.sampled_from([None, 3]))
def test_calibration_rows_are_in_no_other_part(seed, stratify, folds):
    classes = classes_of([40, 30, 20])
    options = {"stratify": stratify, "folds": folds, "test": 0.2}
    parts = Split(calibration=0.2, **options).assign(classes, seed)
    assert sorted(parts) == ["calibration", "test", "train", "validation"]
    assert sorted(np.concatenate(list(parts.values()))) == list(range(90))
    assert len(parts["calibration"]) == len(parts["test"]) == 18
    # The calibration rows are taken from the training rows: the test rows, and without folds the validation rows, stay.
    others = Split(**options).assign(classes, seed)
    for part in ("test", *([] if folds else ["validation"])):
        np.testing.assert_array_equal(parts[part], others[part])


def test_folds_share_their_calibration_rows():
    folds = [Split(folds=3, fold=fold, calibration=0.2).assign(OF_SAMPLES, seed=7) for fold in range(3)]
    assert len({tuple(parts["calibration"]) for parts in folds}) == 1
    assert not set(folds[0]["calibration"]) & set(np.concatenate([parts["validation"] for parts in folds]))


def test_a_group_is_in_one_part_with_calibration_rows():
    groups = [f"g{row // 4}" for row in range(80)]
    parts = Split(group="sample", calibration=0.2, test=0.2).assign(["a", "b"] * 40, 7, groups=groups)
    of_parts = [{groups[row] for row in rows} for rows in parts.values()]
    assert len(of_parts) == 4 and sum(map(len, of_parts)) == 20
    assert len(parts["calibration"]) == 16
