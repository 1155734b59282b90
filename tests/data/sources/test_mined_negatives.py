"""Mined negatives: documents of other rows, near the query, never relevant ones, the same in every reading."""

import pytest

from tfattn.data.sources.mined_negatives import MinedNegatives
from tfattn.errors import ConfigError
from tfattn.formats.csv_files import CsvFile

ROWS = [
    ("red fruit", "the red apple is a fruit", "A"),
    ("green fruit", "a green pear is a fruit", "A"),
    ("fast car", "the red car is fast", "A"),
    ("red fruit", "strawberries are red fruit", "A"),
    ("blue sky", "the sky is blue", "B"),
    ("deep sea", "the red sea is deep", "B"),
]


@pytest.fixture
def mined(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("".join(f"{','.join(row)}\n" for row in [("q", "d", "title"), *ROWS]))

    def mined(**options):
        fields = {"question": "q", "context": "d", "title": "title"}
        options = {"query": "question", "document": "context", "num_negatives": 2, **options}
        return MinedNegatives(source=CsvFile(path=str(path), fields=fields), **options)

    return mined


@pytest.mark.parametrize("negatives", ["bm25", "random"])
def test_negatives_are_other_documents_without_the_relevant_ones(mined, negatives):
    documents = {row[1] for row in ROWS}
    for row, (query, document, title) in zip(mined(negatives=negatives).rows(), ROWS, strict=True):
        relevant = {other for same, other, _ in ROWS if same == query}
        first, *found = row.fields["documents"]
        assert (row.fields["query"], first, row.fields["title"]) == (query, document, title)
        assert len(found) == len(set(found)) == 2 and set(found) <= documents - relevant
        assert row.fields["grades"] == [1, 0, 0]


def test_bm25_takes_the_documents_with_the_words_of_the_query(mined):
    first, second, *_ = mined(num_negatives=1).rows()
    assert first.fields["documents"][1] == "a green pear is a fruit"
    assert second.fields["documents"][1] in ("the red apple is a fruit", "strawberries are red fruit")


def test_random_negatives_depend_on_the_seed_alone(mined):
    rows = [[row.fields["documents"] for row in mined(negatives="random", seed=seed).rows()] for seed in (1, 1, 2)]
    assert rows[0] == rows[1] != rows[2]


def test_negatives_within_a_role_do_not_cross_it(mined):
    groups = {document: title for _, document, title in ROWS}
    rows = list(mined(within="title", num_negatives=9).rows())
    assert all({groups[text] for text in row.fields["documents"]} == {row.fields["title"]} for row in rows)
    assert [len(row.fields["documents"]) for row in rows] == [3, 4, 4, 3, 2, 2]  # fewer than asked for


def test_a_missing_role_is_named_with_the_nearest(mined):
    with pytest.raises(ConfigError, match="the source has no `contxt`.*Did you mean `context`"):
        mined(document="contxt")
    with pytest.raises(ConfigError, match="the source has no `article`"):
        mined(within="article")
