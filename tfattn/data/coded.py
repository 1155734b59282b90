"""A column of texts as numbers: many rows, few different texts."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Coded:
    """The texts of N rows, each a place in a sorted list.

    Attributes:
        names: the different texts, sorted.
        codes: (N,) int32, the place of each row's.

    Example:
        >>> Coded.of(["leak", "noise", "leak"])
        Coded(names=['leak', 'noise'], codes=array([0, 1, 0], dtype=int32))
    """

    names: list[str]
    codes: np.ndarray

    @staticmethod
    def of(texts: Iterable[str]) -> "Coded":
        """Assign numbers to the texts of rows."""
        places: dict[str, int] = {}
        codes = np.fromiter((places.setdefault(text, len(places)) for text in texts), np.int32)
        return Coded.joined([Coded(list(places), codes)])

    @staticmethod
    def joined(parts: Sequence["Coded"]) -> "Coded":
        """Concatenate parts; their names need not be sorted."""
        names = sorted({name for part in parts for name in part.names})
        places = {name: place for place, name in enumerate(names)}
        codes = [np.array([places[name] for name in part.names], np.int32)[part.codes] for part in parts]
        return Coded(names, np.concatenate(codes) if codes else np.empty(0, np.int32))

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: np.ndarray) -> "Coded":
        """Take some rows, with the names that they have."""
        codes = self.codes[rows]
        present = np.flatnonzero(np.bincount(codes, minlength=len(self.names)))
        places = np.zeros(len(self.names), np.int32)
        places[present] = np.arange(len(present))
        return Coded([self.names[place] for place in present], places[codes])

    def texts(self) -> Iterator[str]:
        """Iterate over the text of each row."""
        return (self.names[code] for code in self.codes)

    @property
    def counts(self) -> dict[str, int]:
        """The number of rows that have each text."""
        return dict(zip(self.names, np.bincount(self.codes, minlength=len(self.names)).tolist(), strict=True))
