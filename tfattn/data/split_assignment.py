"""Which rows train and which measure, and where each stands among the others."""

import numpy as np

from tfattn.data.dictionary_encoded import DictionaryEncoded
from tfattn.data.section import Data
from tfattn.data.split_config import TEST, TRAIN, VALIDATION
from tfattn.data.survey import Survey
from tfattn.errors import DataError, listed, nearest

SPLITS = (TRAIN, VALIDATION, TEST)


def divide(data: Data, survey: Survey, seed: int) -> np.ndarray:
    """Assign every row to a split.

    Args:
        data: the `data` section.
        survey: what is known of the N rows.
        seed: of the division.

    Returns:
        the split of each row, its place in SPLITS: (N,) int8.

    Raises:
        DataError: no row is complete, or none is left for a split; names the place.
    """
    _check_complete(data, survey)
    _check_held_out(data, survey)
    is_own, is_apart = ~survey.is_held_out & ~survey.is_apart, ~survey.is_held_out & survey.is_apart
    for source, rows in ((data.source, is_own), (data.validation_source, is_apart)):
        if source is not None and not rows.any():
            raise DataError(
                "every row is kept aside", where=str(source.path), expected="some that `split.hold_out` leaves"
            )
    numbers = np.flatnonzero(is_own)
    assigned = data.split.assign(
        survey.strata[numbers]
        if data.targets.is_stratified
        else DictionaryEncoded([""], np.zeros(len(numbers), np.int32)),
        seed,
        locations=_Locations(survey, numbers),
        with_validation=data.validation_source is None,
        groups=survey.groups[numbers] if data.split.group else None,
    )
    split_of_row = np.full(len(survey), SPLITS.index(TEST), np.int8)
    split_of_row[is_apart] = SPLITS.index(VALIDATION)
    for split, rows in assigned.items():
        split_of_row[numbers[rows]] = SPLITS.index(split)
    return split_of_row


class _Locations:
    """The places of some rows."""

    def __init__(self, survey: Survey, numbers: np.ndarray):
        self._survey, self._numbers = survey, numbers

    def __getitem__(self, row: int) -> str:
        return self._survey[int(self._numbers[row])]


def _check_complete(data: Data, survey: Survey) -> None:
    sizes = np.diff(survey.starts)
    present = {unit.source for unit, size in zip(survey.units, sizes, strict=True) if size}
    for key, source in data.sources.items():
        if key not in present:
            next(source.rows())  # a file without rows tells it
            raise DataError(
                "no row is complete",
                where=str(source.path),
                expected=f"a value for {' and '.join(data.needed_roles(key))} in some rows",
                received=", ".join(
                    f"{found['rows']} rows without {role}" for role, found in survey.dropped.items() if found["rows"]
                ),
            )


def _check_held_out(data: Data, survey: Survey) -> None:
    """Refuse a value that no row has: it is a slip, by which rows would train that are to be kept aside."""
    for role, values in (data.split.hold_out or {}).items():
        present = survey.values[role]
        for value in values:
            if value not in present:
                raise DataError(
                    "no row is kept aside by `split.hold_out`",
                    where=str(data.source.path),
                    expected=f"some rows with {role}: {value}",
                    received=listed(present),
                    remedy=nearest(value, present),
                )
