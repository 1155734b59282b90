"""Assignment of surveyed rows to splits."""

import numpy as np

from tfattn.data.examples.dictionary_encoded import DictionaryEncoded
from tfattn.data.preparation.survey import Survey
from tfattn.data.raw_data import RawData
from tfattn.data.split_config import CALIBRATION, TEST, TRAIN, VALIDATION
from tfattn.errors import DataError, listed, nearest

SPLITS = (TRAIN, VALIDATION, TEST, CALIBRATION)
DROPPED = len(SPLITS)  # the code of rows that are in no split


def assign_splits(data: RawData, survey: Survey, seed: int) -> np.ndarray:
    """Assign every row to a split.

    Args:
        data: the `data` section.
        survey: the survey of the N rows.
        seed: seed of the split.

    Returns:
        (N,) int8, the index in SPLITS of each row.

    Raises:
        DataError: no row is complete, or a split has no rows; names the file.
    """
    _check_complete(data, survey)
    _check_held_out(data, survey)
    is_own, is_apart = ~survey.is_held_out & ~survey.is_apart, ~survey.is_held_out & survey.is_apart
    for source, rows in ((data.source, is_own), (data.validation_source, is_apart)):
        if source is not None and not rows.any():
            raise DataError(
                "every row is held out", where=str(source.path), expected="some that `split.hold_out` leaves"
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


def drop_leaks(split_of_row: np.ndarray, texts: np.ndarray, where: str) -> np.ndarray:
    """Leave training rows out whose content is also in a row of another split.

    Args:
        split_of_row: (N,) int8, indices in SPLITS.
        texts: (N,) uint64, hashes of the content of rows.
        where: the file, for the message.

    Returns:
        (N,) int8, indices in SPLITS, or DROPPED.

    Raises:
        DataError: no training row is left.

    Example:
        >>> drop_leaks(np.array([0, 0, 1], np.int8), np.array([5, 7, 5], np.uint64), "rows.csv")
        array([4, 0, 1], dtype=int8)
    """
    is_training = split_of_row == SPLITS.index(TRAIN)
    is_dropped = is_training & np.isin(texts, texts[~is_training])
    if (is_dropped == is_training).all():
        raise DataError(
            "`split.leaks: drop` leaves no training row",
            where=where,
            expected="training rows with other content than the rows of other splits",
            remedy="Check whether `source` and `validation_source` are the same rows.",
        )
    return np.where(is_dropped, DROPPED, split_of_row).astype(np.int8)


class _Locations:
    """The locations of selected rows."""

    def __init__(self, survey: Survey, numbers: np.ndarray):
        self._survey, self._numbers = survey, numbers

    def __getitem__(self, row: int) -> str:
        return self._survey[int(self._numbers[row])]


def _check_complete(data: RawData, survey: Survey) -> None:
    sizes = np.diff(survey.starts)
    present = {unit.source for unit, size in zip(survey.units, sizes, strict=True) if size}
    for key, source in data.sources.items():
        if key not in present:
            next(source.rows())  # raises the error of a file without rows
            raise DataError(
                "no row is complete",
                where=str(source.path),
                expected=f"a value for {' and '.join(data.needed_roles(key))} in some rows",
                received=", ".join(
                    f"{found['rows']} rows without {role}" for role, found in survey.dropped.items() if found["rows"]
                ),
            )


def _check_held_out(data: RawData, survey: Survey) -> None:
    """Check that each value of `hold_out` occurs: a typo would move test rows to training."""
    for role, values in (data.split.hold_out or {}).items():
        present = survey.values[role]
        for value in values:
            if value not in present:
                raise DataError(
                    "no row is held out by `split.hold_out`",
                    where=str(data.source.path),
                    expected=f"some rows with {role}: {value}",
                    received=listed(present),
                    remedy=nearest(value, present),
                )
