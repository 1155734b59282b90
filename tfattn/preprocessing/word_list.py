"""The word list of a corpus, with counts, as a tab-separated file."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tfattn import files
from tfattn.errors import DataError

VOCABULARY = "vocabulary.tsv"  # each line: a word, a tab and its count
_REMEDY = "Prepare the data again."


class WordList(NamedTuple):
    """Words, the most frequent first.

    Attributes:
        words: the V words.
        counts: the count of each word, (V,) int64.
    """

    words: tuple[str, ...]
    counts: np.ndarray

    @classmethod
    def from_counts(cls, counted: Sequence[tuple[str, int]]) -> "WordList":
        """Make a list from (word, count) pairs."""
        words, counts = zip(*counted, strict=True)
        return cls(words, np.array(counts, np.int64))

    def write(self, folder: Path) -> None:
        """Write vocabulary.tsv into an existing folder."""
        lines = zip(self.words, self.counts.tolist(), strict=True)
        files.write_text(folder / VOCABULARY, "".join(f"{word}\t{count}\n" for word, count in lines))

    @classmethod
    def read(cls, folder: Path) -> "WordList":
        """Read vocabulary.tsv.

        Raises:
            DataError: it is missing or damaged; names the line.
        """
        path = folder / VOCABULARY
        found: dict[str, int] = {}
        before = None
        for number, (word, count) in enumerate(read_table(path, 2), start=1):
            if not count.isdecimal() or word in found or before is not None and int(count) > before:
                raise damaged_line(path, number, "words, each once, and their counts, the highest first", [word, count])
            found[word] = before = int(count)
        if not found:
            raise DataError("the file is damaged: it lists no words", where=str(path), remedy=_REMEDY)
        return cls.from_counts(list(found.items()))


def read_table(path: Path, columns: int) -> list[list[str]]:
    """Read a tab-separated file with the given number of columns.

    Raises:
        DataError: it is missing, not UTF-8, or a line has another number of values or an empty value; names the line.
    """
    try:
        text = files.read_bytes(path, remedy=_REMEDY).decode()
    except UnicodeDecodeError:
        raise DataError("the file is damaged: it is not UTF-8", where=str(path), remedy=_REMEDY) from None
    lines = [line.split("\t") for line in text.split("\n")]
    if lines[-1] == [""]:
        lines.pop()
    for number, line in enumerate(lines, start=1):
        if len(line) != columns or not all(line):
            raise damaged_line(path, number, f"{columns} values with tabs between them", line)
    return lines


def damaged_line(path: Path, number: int, expected: str, line: Sequence[str]) -> DataError:
    """Return the error for a damaged line with the given values."""
    return DataError(
        "the file is damaged",
        where=f"{path}:{number}",
        expected=expected,
        received=repr("\t".join(line)[:60]),
        remedy=_REMEDY,
    )
