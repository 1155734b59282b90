"""Targets of text embeddings: the similarity score of a pair of texts, or none."""

from collections.abc import Iterable
from typing import Any

from tfattn.data.examples.dictionary_encoded import DictionaryEncoded
from tfattn.data.examples.encoding import Feature
from tfattn.data.examples.number_targets import Numbers
from tfattn.formats.source import Row


class Similarities(Numbers):
    """A similarity score for each pair of texts, from the role `target`, in any unit; or no target.

    Args:
        scored: whether pairs have scores. Without scores, the texts of a row belong together.
    """

    def __init__(self, *, scored: bool = False):
        super().__init__()
        self.scored = scored
        if not scored:
            self.roles = self.text_roles = ()

    @property
    def features(self) -> dict[str, Feature]:
        return super().features if self.scored else {}

    @property
    def facts(self) -> dict[str, Any]:
        """Return `scored`; and of scored pairs the facts of Numbers."""
        return {"scored": self.scored, **(super().facts if self.scored else {})}

    def check(self, row: Row) -> None:
        if self.scored:
            super().check(row)

    def fit(self, strata: DictionaryEncoded, rows: Iterable[Row]) -> None:
        """Compute the facts of Numbers.

        Raises:
            DataError: all pairs have the same score.
        """
        if self.scored:
            super().fit(strata, rows)

    def encode(self, row: Row) -> dict[str, Any]:
        return super().encode(row) if self.scored else {}
