"""Pairs of a query and a document: one row for each query, in the order of the file."""

import pytest

from tfattn.data.sources.grouped_documents import GroupedDocuments
from tfattn.errors import ConfigError
from tfattn.formats.csv_files import CsvFile

LINES = "question,paragraph,relevant,team\nq1,a,1,x\nq2,b,0,y\nq1,c,0,z\nq2,a,2,y\nq3,d,1,y\n"
FIELDS = {"query": "question", "document": "paragraph", "grade": "relevant", "group": "team"}


@pytest.fixture
def pairs(tmp_path):
    (tmp_path / "pairs.csv").write_text(LINES)
    return lambda **fields: CsvFile(path=str(tmp_path / "pairs.csv"), fields=fields or FIELDS)


def test_rows_of_a_query_are_one_row_wherever_they_are(pairs):
    source = GroupedDocuments(source=pairs())
    rows = list(source.rows())
    assert [row.fields for row in rows] == [
        {"query": "q1", "documents": ["a", "c"], "grades": ["1", "0"], "group": "x"},
        {"query": "q2", "documents": ["b", "a"], "grades": ["0", "2"], "group": "y"},
        {"query": "q3", "documents": ["d"], "grades": ["1"], "group": "y"},
    ]
    assert [row.where.rpartition(":")[2] for row in rows] == ["2", "3", "6"]
    assert list(source.rows()) == rows and source.fingerprint() == pairs().fingerprint()
    assert set(source.fields) == {"query", "documents", "grades", "group"}


def test_a_missing_role_is_named(pairs):
    with pytest.raises(ConfigError, match="the source has no `grade`: expected `grade: COLUMN`"):
        GroupedDocuments(source=pairs(query="question", document="paragraph"))
