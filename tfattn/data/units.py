"""What preparation is cut into, and what each piece of it knows: pure functions of a part of the input.

A step of preparation is a function of a `Work` and a unit. It leaves a result of its unit's name, which appears whole
or not at all: so any number of processes, of this machine or of many that reach one folder, may do the units in any
order, and what is done is never done again.
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
    """What every unit is done with.

    Attributes:
        data: the `data` section.
        folder: where results of units stand until all is done, on a disk or at an address.
        seed: of the division and the order.
        features: what records hold, by the names in the file; known once the preprocessing is fitted.
    """

    data: Data
    folder: Folder
    seed: int
    features: dict[str, Feature] = field(default_factory=dict)


@dataclass(frozen=True)
class Rows:
    """A part of a source.

    Attributes:
        number: of the part, through all sources.
        source: its key, such as "source" or "validation_source".
        part: which rows.
    """

    number: int
    source: str
    part: Part

    @property
    def name(self) -> str:
        return f"{self.number:06d}"


def numbered_parts(data: Data) -> Iterator[Rows]:
    """Divide all sources into parts, numbered through.

    Raises:
        DataError: a file cannot be read.
    """
    found = ((key, part) for key, source in data.sources.items() for part in source.parts())
    return (Rows(number, key, part) for number, (key, part) in enumerate(found))


def fit_in_one_part(units: Sequence[Rows]) -> bool:
    """Tell whether all rows together are known to be no more than one part of a large file has."""
    spans = [span for unit in units for span in unit.part.spans]
    return all(spans) and sum(span.end - span.begin for span in spans) <= parts.PART_BYTES
