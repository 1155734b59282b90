"""Units of work of data preparation.

A step of preparation is a function of a `Work` and a unit. It writes a result with the name of the unit atomically.
Therefore any number of processes, on one or several machines with a shared folder, run units in any order, and no unit
runs twice.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from tfattn.data.engines.results import Folder
from tfattn.data.examples.encoding import Feature
from tfattn.data.raw_data import RawData
from tfattn.formats import parts
from tfattn.formats.parts import Part

if TYPE_CHECKING:  # imports TensorFlow, which a profile of raw rows does without
    from tfattn.data.section import Data

Item = TypeVar("Item")
ROWS_PER_PART = 16  # of a sample, so that it reads a few parts of a large source, and not all


@dataclass(frozen=True)
class Work:
    """The shared inputs of all units.

    Attributes:
        data: the `data` section.
        folder: the folder of results of units, on a disk or at a remote address.
        seed: seed of the split and of the order.
        features: features of records, by the names in the file; empty before the preprocessing is fitted.
    """

    data: "Data"
    folder: Folder
    seed: int
    features: dict[str, Feature] = field(default_factory=dict)


@dataclass(frozen=True)
class Rows:
    """A part of a source.

    Attributes:
        number: index of the part over all sources.
        source: key of the source, such as "source" or "validation_source".
        part: the part.
        limit: the maximum number of rows, evenly spaced; None for all rows.
    """

    number: int
    source: str
    part: Part
    limit: int | None = None

    @property
    def name(self) -> str:
        return f"{self.number:06d}"


def numbered_parts(data: RawData) -> Iterator[Rows]:
    """Divide all sources into parts with consecutive numbers; with `data.max_rows`, choose parts of each source.

    Raises:
        DataError: a file cannot be read.
    """
    number = 0
    for key, source in data.sources.items():
        found, limit = source.parts(), None
        if data.max_rows is not None:
            found = systematic_sample(found, -(-data.max_rows // ROWS_PER_PART))
            limit = -(-data.max_rows // len(found))
        for part in found:
            yield Rows(number, key, part, limit)
            number += 1


def systematic_sample(items: Iterable[Item], limit: int) -> list[Item]:
    """Choose between limit/2 and limit items at equal distances, the first included; all items if they are fewer.

    Example:
        >>> systematic_sample(range(10), limit=4)
        [0, 4, 8]
    """
    chosen: list[Item] = []
    step = 1
    for index, item in enumerate(items):
        if index % step:
            continue
        if len(chosen) == limit:
            chosen, step = chosen[::2], 2 * step
            if index % step:
                continue
        chosen.append(item)
    return chosen


def fit_in_one_part(units: Sequence[Rows]) -> bool:
    """Return whether all rows together are smaller than one part of a large file."""
    spans = [span for unit in units for span in unit.part.spans]
    return all(spans) and sum(span.end - span.begin for span in spans) <= parts.PART_BYTES
