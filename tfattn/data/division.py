"""Which rows there are, and which of them train and which measure."""

import numpy as np

from tfattn.data.section import Data
from tfattn.data.source import Row, Source
from tfattn.data.split import TEST, TRAIN, VALIDATION
from tfattn.data.targets import ClassLabels, NoLabels
from tfattn.errors import DataError, listed, nearest


def divided(data: Data, target: ClassLabels | NoLabels, seed: int) -> tuple[dict[str, list[Row]], dict[str, list[str]]]:
    """Reads and checks all rows and divides them.

    Training rows come in random order: records are read in windows, and a sorted file is to be mixed as well.

    Args:
        data: the `data` section.
        target: what rows are to teach.
        seed: of the division and the order.

    Returns:
        the rows of each split, and the places of those that are left out, by the role that has no value.

    Raises:
        DataError: a row cannot be read, or none is left for a split; names the place.
    """
    dropped: dict[str, list[str]] = {role: [] for role in data.needed_roles}
    rows = _checked(data, data.source, target, dropped)
    apart = _checked(data, data.validation_source, target, dropped) if data.validation_source is not None else []
    held_out = _held_out(data, [*rows, *apart])
    rows, apart = ([row for row in some if not data.split.is_held_out(row.fields)] for some in (rows, apart))
    for source, some in ((data.source, rows), (data.validation_source, apart)):
        if source is not None and not some:
            raise DataError(
                "every row is kept aside", where=str(source.path), expected="some that `split.hold_out` leaves"
            )
    assigned = data.split.assign(
        [target.of(row) for row in rows],
        seed,
        places=[row.where for row in rows],
        with_validation=data.validation_source is None,
        groups=[row.fields[data.split.group].strip() for row in rows] if data.split.group else None,
    )
    order = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, 1])))
    assigned[TRAIN] = order.permutation(assigned[TRAIN])
    parts = {split: [rows[number] for number in numbers] for split, numbers in assigned.items()}
    if data.validation_source is not None:
        parts[VALIDATION] = apart
    if held_out:
        parts[TEST] = held_out
    return {split: parts[split] for split in (TRAIN, VALIDATION, TEST) if split in parts}, dropped


def _held_out(data: Data, rows: list[Row]) -> list[Row]:
    """The rows that are kept aside for the end; a value that no row has is a slip, by which rows would train."""
    for role, values in (data.split.hold_out or {}).items():
        present = {row.fields[role].strip() for row in rows}
        for value in values:
            if value not in present:
                raise DataError(
                    "no row is kept aside by `split.hold_out`",
                    where=str(data.source.path),
                    expected=f"some rows with {role}: {value}",
                    received=listed(sorted(present)),
                    remedy=nearest(value, present),
                )
    return [row for row in rows if data.split.is_held_out(row.fields)]


def _checked(data: Data, source: Source, target: ClassLabels | NoLabels, dropped: dict[str, list[str]]) -> list[Row]:
    """The rows that can be read; one that lacks what it needs is left out."""
    kept, roles = [], data.needed_roles
    for row in source.rows():
        empty = next((role for role in roles if not row.fields[role].strip()), None)
        if empty is None:
            data.preprocessing.check(row.fields, row.where)
            target.check(row)
            kept.append(row)
        else:
            dropped[empty].append(row.where)
    if not kept:
        raise DataError(
            "no row is complete",
            where=str(source.path),
            expected=f"a value for {' and '.join(roles)} in some rows",
            received=", ".join(f"{len(places)} rows without {role}" for role, places in dropped.items() if places),
        )
    return kept
