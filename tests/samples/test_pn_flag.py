"""The PN_flag sample: the specified columns, not separable by a linear combination, and learnable."""

import csv
import math
import random
from collections import Counter, defaultdict

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, recall_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from tfattn.samples.pn_flag import COLUMNS, DILUTIONS, IDENTIFIERS, LABEL, NUMBERS, _binomial, _phred, write

TRAINING_ROWS = 940
SCORES = [name for name in NUMBERS if name.startswith("Score_")]
SPARSE = ("Reads_In_Normal", "Clipped_Share", "Conflicting_Pairs", "Nearby_Indels")


def read(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def numbers_and_labels(rows):
    numbers = np.array([[float(row[name]) for name in NUMBERS] for row in rows])
    return numbers, np.array([int(row[LABEL]) for row in rows])


@pytest.fixture(scope="module", params=[7, 1, 2])
def rows(request, tmp_path_factory):
    """The table of some seeds, that of the default first."""
    path = tmp_path_factory.mktemp("sample") / "pn_flag.tsv"
    write(path, seed=request.param)
    return read(path)


def test_the_sample_has_the_specified_columns_and_classes(rows):
    assert tuple(rows[0]) == COLUMNS == (*IDENTIFIERS, LABEL, *NUMBERS)
    assert len(COLUMNS) == 19 and len(NUMBERS) == 14 and "Score_BG_Polishing" in NUMBERS
    training, test = rows[:TRAINING_ROWS], rows[TRAINING_ROWS:]
    assert Counter(row[LABEL] for row in training) == {"1": 600, "0": 340}
    assert Counter(row[LABEL] for row in test) == {"1": 138, "0": 62}


def test_training_and_test_rows_differ_by_panel_and_share_no_sample(rows):
    assert {row["Panel"] for row in rows[:TRAINING_ROWS]} == {"LODA", "LODB"}
    assert {row["Panel"] for row in rows[TRAINING_ROWS:]} == {"LODC"}
    panels = defaultdict(set)
    for row in rows:
        panels[row["Sample"]].add((row["Panel"], row["Dilution"]))
    assert len(panels) == 114 and all(len(found) == 1 for found in panels.values())
    assert Counter(Counter(row["Sample"] for row in rows).values()) == {10: 114}


def test_loci_recur_in_many_samples_but_not_within_one(rows):
    samples = Counter(row["Locus"] for row in rows)
    assert len(samples) <= 88 and samples.most_common(20)[-1][1] >= 15
    assert len({(row["Sample"], row["Locus"]) for row in rows}) == len(rows)
    known = {row["Locus"] for row in rows[:TRAINING_ROWS]}
    assert np.mean([row["Locus"] in known for row in rows[TRAINING_ROWS:]]) > 0.9


def test_columns_have_the_ranges_of_the_real_table(rows):
    numbers, _ = numbers_and_labels(rows)
    column = dict(zip(NUMBERS, numbers.T, strict=True))
    assert set(column["Expected_Frequency"]) <= {
        float(f"{level * dose:g}") for level in DILUTIONS.values() for dose in (0, 0.5, 1)
    }
    assert column["Expected_Frequency"].max() == 0.012 and column["Observed_Frequency"].min() > 0
    assert column["Supporting_Reads"].min() == 1 and 40 <= column["Supporting_Reads"].max() <= 90
    assert (column["Supporting_Reads"] % 1 == 0).all()
    for name in SCORES[:5]:
        assert column[name].min() >= 0.1
        others = column[name][column[name] < 5000]
        assert column[name].max() <= 5000 and np.quantile(others, 0.99) < 1000
    assert sum(column[name].max() == 5000 for name in SCORES) >= 4
    assert all((column[name] == 0).mean() > 0.8 for name in SPARSE)
    assert all(0.3 < (column[name] == 0).mean() < 0.7 for name in SCORES[5:])


def test_the_observed_frequency_is_reads_by_depth(rows):
    """Real variants that were expected are observed around their frequency, as binomial counts are."""
    ratios = []
    for row in rows:
        expected, observed = float(row["Expected_Frequency"]), float(row["Observed_Frequency"])
        depth = int(row["Supporting_Reads"]) / observed
        assert 1500 < depth < 6000
        if row[LABEL] == "1" and expected >= 0.004:
            ratios.append((observed - expected) / math.sqrt(expected / depth))
    assert abs(np.mean(ratios)) < 0.6  # the errors of a locus add a little
    assert 0.8 < np.std(ratios) < 1.5  # the pipette adds to what is binomial


def test_an_expected_frequency_of_0_indicates_noise_but_not_always(rows):
    numbers, labels = numbers_and_labels(rows)
    unexpected = numbers[:, NUMBERS.index("Expected_Frequency")] == 0
    assert 0.6 < unexpected[labels == 0].mean() < 0.9
    assert 0.05 < unexpected[labels == 1].mean() < 0.15


def test_equal_seeds_write_equal_bytes(tmp_path):
    for name, seed in (("one", 7), ("again", 7), ("other", 8)):
        write(tmp_path / name, seed=seed)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "again").read_bytes() != (tmp_path / "other").read_bytes()


def accuracy(model, rows):
    numbers, labels = numbers_and_labels(rows)
    model.fit(numbers[:TRAINING_ROWS], labels[:TRAINING_ROWS])
    return accuracy_score(labels[TRAINING_ROWS:], model.predict(numbers[TRAINING_ROWS:]))


def test_no_column_or_linear_combination_separates_real_from_noise(rows):
    assert accuracy(DecisionTreeClassifier(max_depth=1), rows) < 0.93
    assert accuracy(LogisticRegression(max_iter=20000), rows) < 0.95
    assert accuracy(make_pipeline(StandardScaler(), LogisticRegression(max_iter=5000)), rows) < 0.95
    assert accuracy(make_pipeline(StandardScaler(), LogisticRegression(C=1e3, max_iter=5000)), rows) < 0.95


def test_the_task_can_be_learned(rows):
    """Gradient boosting tells nearly all rows, and most real ones at a threshold that no noise reaches."""
    numbers, labels = numbers_and_labels(rows)
    model = HistGradientBoostingClassifier(max_iter=60, learning_rate=0.2, random_state=0)
    assert accuracy(model, rows) >= 0.97
    scores = model.predict_proba(numbers[TRAINING_ROWS:])[:, 1]
    test = labels[TRAINING_ROWS:]
    assert recall_score(test, scores > scores[test == 0].max()) >= 0.9


def test_binomial_counts():
    chance = random.Random(3)
    for draws, success in ((3000, 0.012), (3000, 2e-4), (10, 0.5), (5, 0.0)):
        counts = np.array([_binomial(chance, draws, success) for _ in range(4000)])
        assert counts.mean() == pytest.approx(draws * success, rel=0.05)
        assert counts.var() == pytest.approx(draws * success * (1 - success), rel=0.1)
        assert counts.min() >= 0 and counts.max() <= draws


@pytest.mark.parametrize(
    ("reads", "mean", "expected"),
    [
        (1, 1.0, -10 * math.log10(1 - math.exp(-1))),
        (2, 0.5, -10 * math.log10(1 - math.exp(-0.5) * 1.5)),
        (1, 20.0, -10 * math.log10(1 - math.exp(-20))),
        (60, 1e-3, -10 * (60 * -3 - math.lgamma(61) / math.log(10)) + 0.004),
    ],
)
def test_a_callers_phred_score_is_a_poisson_tail(reads, mean, expected):
    assert _phred(reads, mean) == pytest.approx(expected, abs=1e-3)
