"""Units of work of data preparation.

A step of preparation is a function of a `Work` and a unit. It writes a result with the name of the unit atomically.
Therefore any number of processes, on one or several machines with a shared folder, run units in any order, and no unit
runs twice.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tfattn.data.encoding import Feature
from tfattn.data.results import Folder
from tfattn.data.section import Data
from tfattn.formats import parts
from tfattn.formats.parts import Part


@dataclass(frozen=True)
class Work:
    """The shared inputs of all units.

    Attributes:
        data: the `data` section.
        folder: the folder of results of units, on a disk or at a remote address.
        seed: seed of the split and of the order.
        features: features of records, by the names in the file; empty before the preprocessing is fitted.
    """

    data: Data
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
    """

    number: int
    source: str
    part: Part

    @property
    def name(self) -> str:
        return f"{self.number:06d}"


def numbered_parts(data: Data) -> Iterator[Rows]:
    """Divide all sources into parts with consecutive numbers.

    Raises:
        DataError: a file cannot be read.
    """
    found = ((key, part) for key, source in data.sources.items() for part in source.parts())
    return (Rows(number, key, part) for number, (key, part) in enumerate(found))


def fit_in_one_part(units: Sequence[Rows]) -> bool:
    """Return whether all rows together are smaller than one part of a large file."""
    spans = [span for unit in units for span in unit.part.spans]
    return all(spans) and sum(span.end - span.begin for span in spans) <= parts.PART_BYTES
