"""A dictionary-encoded column of texts, for many rows with few different texts."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class DictionaryEncoded:
    """The texts of N rows as codes into a sorted list of the different texts.

    Attributes:
        names: the different texts, sorted.
        codes: (N,) int32, the index in `names` of the text of each row.

    Example:
        >>> DictionaryEncoded.of(["leak", "noise", "leak"])
        DictionaryEncoded(names=['leak', 'noise'], codes=array([0, 1, 0], dtype=int32))
    """

    names: list[str]
    codes: np.ndarray

    @staticmethod
    def of(texts: Iterable[str]) -> "DictionaryEncoded":
        """Encode the texts of rows."""
        indices: dict[str, int] = {}
        codes = np.fromiter((indices.setdefault(text, len(indices)) for text in texts), np.int32)
        return DictionaryEncoded.concatenate([DictionaryEncoded(list(indices), codes)])

    @staticmethod
    def concatenate(parts: Sequence["DictionaryEncoded"]) -> "DictionaryEncoded":
        """Concatenate parts, whose names may be unsorted."""
        names = sorted({name for part in parts for name in part.names})
        indices = {name: index for index, name in enumerate(names)}
        codes = [np.array([indices[name] for name in part.names], np.int32)[part.codes] for part in parts]
        return DictionaryEncoded(names, np.concatenate(codes) if codes else np.empty(0, np.int32))

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: np.ndarray) -> "DictionaryEncoded":
        """Select rows, and only the names that these rows have."""
        codes = self.codes[rows]
        present = np.flatnonzero(np.bincount(codes, minlength=len(self.names)))
        indices = np.zeros(len(self.names), np.int32)
        indices[present] = np.arange(len(present))
        return DictionaryEncoded([self.names[index] for index in present], indices[codes])

    def texts(self) -> Iterator[str]:
        """Iterate over the text of each row."""
        return (self.names[code] for code in self.codes)

    @property
    def counts(self) -> dict[str, int]:
        """The number of rows of each text."""
        return dict(zip(self.names, np.bincount(self.codes, minlength=len(self.names)).tolist(), strict=True))
