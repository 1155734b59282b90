"""Queries with a relevant document, completed with documents of other rows that are not relevant."""

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
from pydantic import NonNegativeInt, PositiveInt

from tfattn.config.types import Part
from tfattn.data.bm25 import Bm25
from tfattn.data.sources.pair_roles import check_roles
from tfattn.features import DOCUMENTS, GRADES, QUERY
from tfattn.formats import parts
from tfattn.formats.source import Row, Source


class MinedNegatives(Source):
    """Rows for ranking from a source with a query and a relevant document in each row.

    A row has the relevant document, with grade 1, and documents of other rows, with grade 0. Documents that another row
    has for the same query are relevant, too, and never among them. Some negatives may be relevant although no row says
    so. The rows are kept in memory.

    Args:
        source: the queries, each with a relevant document.
        query: the role of the query.
        document: the role of the document.
        within: a role, such as `title`: only documents of rows with the same value are negatives, so that a split by
            this role separates all documents; null for the documents of all rows.
        num_negatives: the number of negatives of a query; fewer if there are not as many other documents.
        negatives: "bm25" takes the documents with the highest BM25 scores for the query, "random" any documents.
        seed: of random negatives, which also depend on the number of the row.

    Raises:
        ConfigError: the source lacks a role.

    Example:
        source = SquadFile(path="train-v1.1.json")
        mined = MinedNegatives(source=source, query="question", document="context", within="title", num_negatives=4)

    Source: Karpukhin et al. 2020, "Dense passage retrieval for open-domain question answering", for negatives by BM25.
    """

    def __init__(
        self,
        *,
        source: Part("sources"),
        query: str = "query",
        document: str = "document",
        within: str | None = None,
        num_negatives: PositiveInt = 7,
        negatives: Literal["bm25", "random"] = "bm25",
        seed: NonNegativeInt = 0,
    ):
        check_roles(source, (query, document, *([within] if within else [])))
        self.source: Source = source
        self.path = source.path
        self.num_negatives, self.negatives, self.seed = num_negatives, negatives, seed
        self._query, self._document, self._within = query, document, within
        self._others = [role for role in source.fields if role not in (query, document)]
        others = {role: source.fields[role] for role in self._others}
        self.fields = {
            **others,
            QUERY: source.fields[query],
            DOCUMENTS: source.fields[document],
            GRADES: GRADES,
        }

    def rows(self, part: parts.Part | None = None) -> Iterator[Row]:
        """Read all queries, and yield each with its documents."""
        rows = list(self.source.rows())
        relevant: dict[str, set[str]] = {}
        groups: dict[str, dict[str, None]] = {}  # the distinct documents of each group, in the order of the file
        for row in rows:
            relevant.setdefault(row.fields[self._query], set()).add(row.fields[self._document])
            groups.setdefault(self._group(row), {})[row.fields[self._document]] = None
        pools = {name: _Pool(list(documents), self.negatives) for name, documents in groups.items()}
        for number, row in enumerate(rows):
            query, document = row.fields[self._query], row.fields[self._document]
            generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence([self.seed, number])))
            pool = pools[self._group(row)]
            found = pool.negatives(query, relevant[query], self.num_negatives, generator)
            others = {role: row.fields[role] for role in self._others}
            ranked = {QUERY: query, DOCUMENTS: [document, *found], GRADES: [1, *[0] * len(found)]}
            yield Row({**others, **ranked}, row.where)

    def fingerprint(self) -> str:
        return self.source.fingerprint()

    def _group(self, row: Row) -> str:
        return row.fields[self._within] if self._within else ""


class _Pool:
    """The documents from which the negatives of a query are taken."""

    def __init__(self, documents: Sequence[str], negatives: str):
        self._documents = documents
        self._index = Bm25(documents) if negatives == "bm25" else None

    def negatives(self, query: str, relevant: set[str], number: int, generator: np.random.Generator) -> list[str]:
        """Return documents that are not relevant, the highest BM25 scores first or in random order."""
        if self._index is not None:
            order = np.argsort(-self._index.scores(query), kind="stable")
        else:  # at most this many are relevant
            size = min(len(self._documents), number + len(relevant))
            order = generator.choice(len(self._documents), size=size, replace=False)
        found = (self._documents[index] for index in order)
        return [text for text in found if text not in relevant and text.strip()][:number]
