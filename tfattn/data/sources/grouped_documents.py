"""Pairs of a query and a document, grouped by query."""

from collections.abc import Iterator

from tfattn.config.types import Part
from tfattn.data.sources.pair_roles import check_roles
from tfattn.features import DOCUMENT, DOCUMENTS, GRADES, QUERY
from tfattn.formats import parts
from tfattn.formats.source import Row, Source

GRADE = "grade"


class GroupedDocuments(Source):
    """Rows for ranking from a source with a query, a document and its grade in each row.

    All rows with the same query become one row: the query, `documents` and `grades`, in the order of the first row of
    each query, with the other roles of that row. The rows are kept in memory.

    Args:
        source: the pairs, with the roles `query`, `document` and `grade`.

    Raises:
        ConfigError: the source lacks a role.

    Example:
        fields = {"query": "question", "document": "paragraph", "grade": "relevant"}
        source = GroupedDocuments(source=CsvFile(path="pairs.csv", fields=fields))
    """

    def __init__(self, *, source: Part("sources")):
        check_roles(source, (QUERY, DOCUMENT, GRADE))
        self.source: Source = source
        self.path = source.path
        others = {role: column for role, column in source.fields.items() if role not in (DOCUMENT, GRADE)}
        self.fields = {**others, DOCUMENTS: source.fields[DOCUMENT], GRADES: source.fields[GRADE]}

    def rows(self, part: parts.Part | None = None) -> Iterator[Row]:
        """Read all pairs, and yield a row for each query."""
        groups: dict[str, Row] = {}
        for row in self.source.rows():
            fields = dict(row.fields)
            document, grade = fields.pop(DOCUMENT), fields.pop(GRADE)
            group = groups.setdefault(fields[QUERY], Row({**fields, DOCUMENTS: [], GRADES: []}, row.where))
            group.fields[DOCUMENTS].append(document)
            group.fields[GRADES].append(grade)
        yield from groups.values()

    def fingerprint(self) -> str:
        return self.source.fingerprint()
