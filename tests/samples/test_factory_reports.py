import csv
from collections import Counter

import pytest

from tfattn.errors import DataError
from tfattn.samples.factory_reports import CATEGORY_COUNTS, COLUMNS, RESOLUTIONS, write

ASKED_BY_THE_DEMO = {
    "coolant is pooling underneath sorter.",
    "sorter blows fuses at start up.",
    "there are some very loud rattling sounds coming from the assembler.",
}
SEEDS = range(20)


def _read(path):
    with open(path, encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    path = tmp_path_factory.mktemp("sample") / "reports.csv"
    write(path)
    return path


@pytest.fixture(scope="module")
def sentences(tmp_path_factory):
    """The descriptions of many seeds, in lower case."""
    path = tmp_path_factory.mktemp("samples") / "reports.csv"
    found = set()
    for seed in SEEDS:
        write(path, seed=seed)
        found |= {row["Description"].lower() for row in _read(path)}
    return found


def test_the_sample_has_the_columns_and_classes_of_the_real_file(sample, shared):
    real = _read(shared / "factory_reports" / "factoryReports.csv")
    rows = _read(sample)
    assert list(rows[0]) == list(real[0]) == list(COLUMNS)
    assert Counter(row["Category"] for row in rows) == Counter(row["Category"] for row in real) == CATEGORY_COUNTS
    assert {row["Resolution"] for row in rows} == {row["Resolution"] for row in real}
    assert {row["Urgency"] for row in rows} == {row["Urgency"].capitalize() for row in real}


def test_costs_follow_from_the_resolution(sample):
    for row in _read(sample):
        urgencies, costs = RESOLUTIONS[row["Resolution"]]
        assert int(row["Cost"]) in costs and row["Urgency"] in urgencies


def test_equal_seeds_write_equal_bytes(sample, tmp_path):
    write(tmp_path / "again.csv", seed=7)
    write(tmp_path / "other.csv", seed=8)
    assert (tmp_path / "again.csv").read_bytes() == sample.read_bytes() != (tmp_path / "other.csv").read_bytes()


def test_reports_are_distinct(sample):
    descriptions = [row["Description"].lower() for row in _read(sample)]
    assert len(set(descriptions)) == len(descriptions) == 480


def test_all_rules_of_the_grammar_are_used_and_end_in_words(sentences):
    for sentence in sentences:
        assert not set("{}|_") & set(sentence) and "  " not in sentence
        assert sentence.endswith(".") and 2 <= len(sentence.split()) <= 24


def test_articles_agree_with_their_nouns(sentences):
    words = [word for sentence in sentences for word in zip(sentence.split(), sentence.split()[1:], strict=False)]
    assert not [pair for pair in words if pair[0] == "a" and pair[1][0] in "aeiou"]
    assert not [pair for pair in words if pair[0] == "an" and pair[1][0] not in "aeiouh"]  # an hour


def test_the_sample_excludes_demo_questions(sentences):
    assert not sentences & ASKED_BY_THE_DEMO


def test_the_sample_excludes_real_reports(sentences, shared):
    real = {row["Description"].lower() for row in _read(shared / "factory_reports" / "factoryReports.csv")}
    assert not sentences & real


def test_no_single_word_determines_a_category(sample):
    """The best word of each category is found in few of its reports, or in others' too."""
    rows = [(set(row["Description"].lower().strip(".").split()), row["Category"]) for row in _read(sample)]
    for category, count in CATEGORY_COUNTS.items():
        counts = Counter(word for words, given in rows for word in words if given == category)
        others = Counter(word for words, given in rows for word in words if given != category)
        best = max(counts[word] - others[word] for word in counts)
        assert best < 0.4 * count


@pytest.mark.parametrize("rows", [24, 100, 481])
def test_any_number_of_rows_keeps_the_frequencies(tmp_path, rows):
    write(tmp_path / "reports.csv", rows=rows)
    counts = Counter(row["Category"] for row in _read(tmp_path / "reports.csv"))
    assert counts.total() == rows
    assert all(abs(counts[category] - rows * count / 480) <= 3 for category, count in CATEGORY_COUNTS.items())


def test_too_few_rows_are_refused_and_nothing_is_written(tmp_path):
    with pytest.raises(DataError, match="expected 24 or more, received 10"):
        write(tmp_path / "reports.csv", rows=10)
    assert not (tmp_path / "reports.csv").exists()
