"""The contract of targets: conversion of raw values to target features of records.

A target class defines its roles. `fit` learns from all training rows, and `facts` passes the result to the task. The
task of a pipeline selects the class; the keyword arguments of its constructor are the keys of `data.targets`.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from tfattn.data.examples.dictionary_encoded import DictionaryEncoded
from tfattn.data.examples.encoding import Feature
from tfattn.formats.source import Row


class Target:
    """No target, for self-supervised tasks; the contract of all targets.

    Attributes:
        roles: the roles that the target reads; rows without them are dropped.
        text_roles: the roles whose values are texts.
        may_be_empty: whether rows without a value for the roles are complete.
        is_stratified: whether a stratified split uses the strata.
    """

    roles: tuple[str, ...] = ()
    text_roles: tuple[str, ...] = ()
    may_be_empty: bool = False
    is_stratified: bool = False

    @property
    def features(self) -> dict[str, Feature]:
        """The target features of records; shapes are final after `fit`."""
        return {}

    @property
    def facts(self) -> dict[str, Any]:
        """The facts for tasks, as JSON values; before `fit` with defaults."""
        return {}

    def use(self, facts: dict[str, Any]) -> None:
        """Load the `facts` of a fitted target."""

    def check(self, row: Row) -> None:
        """Check the target of a row.

        Raises:
            DataError: the target is invalid; names file and line.
        """

    def stratum(self, row: Row) -> str:
        """Return the stratum of a row. Rows with the same inputs and different strata are conflicts."""
        return ""

    def classes(self, row: Row) -> Sequence[str]:
        """List the classes of a row, for statistics; none by default."""
        return ()

    def remarks(self, row: Row) -> Sequence[str]:
        """List remarks on the target of a row, in fixed words that are counted; none by default."""
        return ()

    def fit(self, strata: DictionaryEncoded, rows: Iterable[Row]) -> None:
        """Fit the target on training rows.

        Args:
            strata: the strata of all training rows.
            rows: all training rows, or a random sample of many rows, in the order of the file.
        """

    def check_known(self, stratum: str, where: str) -> None:
        """Check a stratum that no training row has.

        Args:
            stratum: the stratum.
            where: file and line of a row of the stratum.

        Raises:
            DataError: the stratum cannot be evaluated.
        """

    def encode(self, row: Row) -> dict[str, Any]:
        """Return the target features of a row.

        Raises:
            DataError: the target is invalid; names file and line.
        """
        return {}
