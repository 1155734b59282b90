"""What rows have to teach: raw values in, the target features of a record out.

A kind of target is a class that keeps this contract. It knows its roles; what it must know of all training rows it
learns by `fit`, and tells the task as `facts`. Which one a pipeline has follows from its task; the keyword arguments of
its constructor are the keys of `data.targets`.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from tfattn.data.dictionary_encoded import DictionaryEncoded
from tfattn.data.encoding import Feature
from tfattn.formats.source import Row


class Target:
    """Nothing beside what the preprocessing reads; and the contract of all targets.

    Attributes:
        roles: what it reads; without them a row is left out.
        text_roles: those of them whose values are texts.
        may_be_empty: whether a row is complete that has no value for them.
        is_stratified: whether rows of each stratum are divided by the same fractions, where the split asks for that.
    """

    roles: tuple[str, ...] = ()
    text_roles: tuple[str, ...] = ()
    may_be_empty: bool = False
    is_stratified: bool = False

    @property
    def features(self) -> dict[str, Feature]:
        """What it writes into a record; shapes are known once it is fitted."""
        return {}

    @property
    def facts(self) -> dict[str, Any]:
        """What tasks have to know, as JSON can hold it; before `fit` as far as it can be known."""
        return {}

    def use(self, facts: dict[str, Any]) -> None:
        """Take over what another one like it has learned, as its `facts` say."""

    def check(self, row: Row) -> None:
        """Refuse a row whose target is not as it should be.

        Raises:
            DataError: names the row's place.
        """

    def stratum(self, row: Row) -> str:
        """Tell rows apart that teach different things; of two that read the same, at least one is then wrong."""
        return ""

    def classes(self, row: Row) -> Sequence[str]:
        """List the classes that a row has, to be counted; none by default."""
        return ()

    def remarks(self, row: Row) -> Sequence[str]:
        """Say what is worth a look in a row's target, in words that are the same for every row; nothing by default."""
        return ()

    def fit(self, strata: DictionaryEncoded, rows: Iterable[Row]) -> None:
        """Learn what is to be known of training rows.

        Args:
            strata: of all of them.
            rows: all of them, or of very many a random part, in the order of the file.
        """

    def check_known(self, stratum: str, where: str) -> None:
        """Refuse a stratum that no training row has, where that cannot be taught; `where` is a row that has it.

        Raises:
            DataError: names the place.
        """

    def encode(self, row: Row) -> dict[str, Any]:
        """Return the target features of a row.

        Raises:
            DataError: it cannot be taught; names the place.
        """
        return {}
