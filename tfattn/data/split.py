"""Which rows train and which measure."""

from collections.abc import Sequence

import numpy as np

from tfattn.config.types import Share
from tfattn.errors import ConfigError, DataError

TRAIN, VALIDATION, TEST = "train", "validation", "test"


class Split:
    """Divides rows at random into training, validation and test rows: always the same for the same seed and labels.

    Args:
        validation: share of the rows that measure during training; not used when the data have a `validation_source`.
        test: share of the rows that are kept aside for the end.
        stratify: whether each class is divided by the same shares, with a row in each part where it has enough.

    Raises:
        ConfigError: nothing is left to train on.

    Example:
        parts = Split(validation=0.2).assign(["leak", "noise"] * 10, seed=7)
        print(parts["train"], parts["validation"])
    """

    def __init__(self, *, validation: Share = 0.2, test: Share = 0.0, stratify: bool = True):
        self.validation = validation
        self.test = test
        self.stratify = stratify
        if validation + test >= 1:
            raise ConfigError(
                "no rows are left for training",
                key="validation",
                expected="validation and test together below 1",
                received=f"{validation} + {test}",
            )

    def assign(
        self,
        classes: Sequence[str],
        seed: int,
        *,
        places: Sequence[str] | None = None,
        with_validation: bool = True,
    ) -> dict[str, np.ndarray]:
        """Divides rows.

        Args:
            classes: the class of each row.
            seed: not negative.
            places: file and line of each row, for messages.
            with_validation: whether validation rows are taken from these rows.

        Returns:
            The row numbers of each part that is not empty, ascending.

        Raises:
            DataError: a class has one row only, which cannot both train and measure; or there are too few rows.
        """
        validation = self.validation if with_validation else 0.0
        strata = np.asarray(classes) if self.stratify else np.zeros(len(classes), np.int32)
        _, group_of_row, counts = np.unique(strata, return_inverse=True, return_counts=True)
        if validation + self.test > 0:
            _check_classes(classes, places)
        num_validation = _shares(counts, validation, counts - 1)
        num_test = _shares(counts, self.test, counts - 1 - num_validation)
        shuffled = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed]))).permutation(len(classes))
        by_group = shuffled[np.argsort(group_of_row[shuffled], kind="stable")]
        parts: dict[str, list[np.ndarray]] = {TRAIN: [], VALIDATION: [], TEST: []}
        for rows, first, second in zip(
            np.split(by_group, np.cumsum(counts)[:-1]), num_validation, num_test, strict=True
        ):
            parts[VALIDATION].append(rows[:first])
            parts[TEST].append(rows[first : first + second])
            parts[TRAIN].append(rows[first + second :])
        return {name: np.sort(np.concatenate(rows)) for name, rows in parts.items() if sum(map(len, rows))}


def _shares(counts: np.ndarray, share: float, most: np.ndarray) -> np.ndarray:
    """`share` of all rows, divided among groups by largest remainder: at least one row of each, at most `most`."""
    exact = counts * share
    rows = np.floor(exact).astype(np.int64)
    missing = round(float(exact.sum())) - int(rows.sum())
    rows[np.argsort(rows - exact, kind="stable")[:missing]] += 1
    return np.minimum(np.maximum(rows, int(share > 0)), most)


def _check_classes(classes: Sequence[str], places: Sequence[str] | None) -> None:
    names, first, counts = np.unique(np.asarray(classes), return_index=True, return_counts=True)
    for name, row in zip(names[counts == 1], first[counts == 1], strict=True):
        raise DataError(
            f"the class {str(name)!r} has one row",
            where=places[row] if places is not None else f"row {row}",
            expected="at least 2, one to train and one to measure",
            remedy="Add rows of this class, take it out, or give a `validation_source`.",
        )
