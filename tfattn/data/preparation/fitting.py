"""Fitting of the preprocessing and the targets on training rows, once for all processes."""

import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np

from tfattn import files
from tfattn.data.engines import results
from tfattn.data.engines.results import Folder, result
from tfattn.data.examples.encoding import Feature, described
from tfattn.data.preparation.input_statistics import MAX_ROWS, STATISTICS, InputStatistics
from tfattn.data.preparation.split_assignment import SPLITS
from tfattn.data.preparation.survey import Survey, complete_rows
from tfattn.data.preparation.units import Work
from tfattn.data.section import Data
from tfattn.data.split_config import TRAIN
from tfattn.data.splitmix64 import row_keys
from tfattn.errors import DataError
from tfattn.formats.source import Row

# Maximum size of the random sample of training rows for fitting, unless the preprocessing needs all rows.
MAX_FITTED = 1_000_000
FITTED = "fitted"


@dataclass(frozen=True)
class Make:
    """A function that creates the `Work` of a preparation in another process.

    Args:
        data: creates the `data` section.
        folder, seed: folder and seed of the work.
    """

    data: Callable[[], Data]
    folder: Folder
    seed: int

    def __call__(self) -> Work:
        work = Work(self.data(), self.folder, self.seed)
        return _fitted(work) if (self.folder / FITTED).exists() else work


def fit(work: Work, surveyed: Survey, split_of_row: np.ndarray) -> Work:
    """Fit targets and preprocessing on training rows, or load the result of an earlier fit."""
    data = work.data
    if (work.folder / FITTED).exists():
        return _fitted(work)
    rows = functools.partial(_training_rows, work, surveyed, split_of_row)
    try:
        data.targets.fit(surveyed.strata[split_of_row == SPLITS.index(TRAIN)], rows(MAX_FITTED))
        most = None if data.preprocessing.fits_on_all_rows else MAX_FITTED
        data.preprocessing.fit(_inputs(data, rows(most)))
    except DataError as error:  # an error of a whole column, without a file
        error.where = error.where or str(data.source.path)
        raise
    _check_strata(work, surveyed, split_of_row)
    features = data.examples.features(next(rows(MAX_FITTED)), data.preprocessing, data.targets)
    with result(work.folder, FITTED) as folder:
        (folder / "preprocessing").mkdir()
        data.preprocessing.save(folder / "preprocessing")
        files.write_json(folder / "targets.json", data.targets.facts)
        files.write_json(folder / "features.json", described(features))
        if data.targets.roles and not data.source.has_examples:
            InputStatistics.of(_inputs(data, rows(MAX_ROWS)), data.preprocessing, data.targets.facts).write(
                folder / STATISTICS
            )
    return dataclasses.replace(work, features=features)


def _inputs(data: Data, rows: Iterable[Row]) -> Iterator[dict[str, Any]]:
    """Yield the raw fields that the preprocessing reads of rows."""
    return (fields for row in rows for fields in data.examples.inputs(row, data.preprocessing))


def _fitted(work: Work) -> Work:
    """Load the result of `fit`."""
    with results.on_disk(results.opened(work.folder, FITTED)) as folder:
        work.data.preprocessing.load(folder / "preprocessing")
        work.data.targets.use(files.read_json(folder / "targets.json", dict[str, Any]))
        features = files.read_json(folder / "features.json", dict[str, Feature])
    return dataclasses.replace(work, features=features)


def _training_rows(work: Work, surveyed: Survey, split_of_row: np.ndarray, most: int | None) -> Iterator[Row]:
    """Read the training rows in the order of the files, or a random sample of `most` rows."""
    is_read = split_of_row == SPLITS.index(TRAIN)
    if most and np.count_nonzero(is_read) > most:
        drawn = row_keys(np.arange(len(is_read)), work.seed)
        is_read &= drawn <= np.partition(drawn[is_read], most - 1)[most - 1]
    for unit, begin, end in zip(surveyed.units, surveyed.starts, surveyed.starts[1:], strict=False):
        if is_read[begin:end].any():
            yield from compress(complete_rows(work.data, unit), is_read[begin:end])


def _check_strata(work: Work, surveyed: Survey, split_of_row: np.ndarray) -> None:
    """Check that the targets accept strata that only evaluation rows have."""
    is_training = split_of_row == SPLITS.index(TRAIN)
    trained = np.bincount(surveyed.strata.codes[is_training], minlength=len(surveyed.strata.names))
    for number, split in enumerate(SPLITS[1:], start=1):
        rows = np.flatnonzero((split_of_row == number) & (trained[surveyed.strata.codes] == 0))
        if len(rows):
            try:
                work.data.targets.check_known(
                    surveyed.strata.names[surveyed.strata.codes[rows[0]]], surveyed[int(rows[0])]
                )
            except DataError as error:  # add the remedy for this split
                error.remedy = f"{error.remedy} {work.data.remedy_of_new_class(split)}".lstrip()
                raise
