"""A growing table of words and vectors."""

import numpy as np

from tfattn import console
from tfattn.errors import DataError
from tfattn.vectors.word_vectors import WordVectors

MAX_WIDTH = 1 << 16  # headers with wider vectors are refused
FIRST_ROWS = 1024


class Table:
    """Words and vectors, in memory proportional to the rows that were read, not to the header.

    Args:
        file: the name of the file.
        width: the dimension of the vectors.
    """

    def __init__(self, file: str, width: int):
        if not 1 <= width <= MAX_WIDTH:
            raise DataError(
                "no vectors have this width", where=file, expected=f"1 to {MAX_WIDTH:,} numbers", received=f"{width:,}"
            )
        self.file, self.width = file, width
        self.words: list[str] = []
        self._vectors = np.empty((FIRST_ROWS, width), "float32")

    def __len__(self) -> int:
        return len(self.words)

    def add(self, words: list[bytes], vectors: np.ndarray) -> None:
        """Add N words and their vectors (N, D).

        Invalid UTF-8 is escaped as in Python source, such as `caf\\xe9`, so that words stay distinct.

        Raises:
            DataError: a vector has a value that is not finite.
        """
        is_finite = np.isfinite(vectors).all(axis=1)
        if not is_finite.all():
            row = int(np.argmin(is_finite))
            wrong = vectors[row][~np.isfinite(vectors[row])][0]
            raise DataError(
                "a vector has a value that is not finite",
                where=f"{self.file}, row {len(self) + row + 1:,}",
                expected=f"{self.width} finite numbers of the word {_text(words[row])!r}",
                received=str(wrong),
            )
        stop = len(self) + len(words)
        if stop > len(self._vectors):
            # In place if the system can extend it, to avoid twice the memory.
            self._vectors.resize((max(stop, len(self._vectors) * 3 // 2), self.width), refcheck=False)
        self._vectors[len(self) : stop] = vectors
        self.words += map(_text, words)

    def done(self) -> WordVectors:
        """Return the word vectors; the first vector of a repeated word counts."""
        self._vectors.resize((len(self), self.width), refcheck=False)
        indices: dict[str, int] = {}
        for index, word in enumerate(self.words):
            indices.setdefault(word, index)
        if len(indices) == len(self):
            return WordVectors(self.words, self._vectors)
        repeated = len(self) - len(indices)
        console.note(f"{self.file}: {repeated:,} words are repeated: their first vectors count")
        return WordVectors([*indices], self._vectors[[*indices.values()]])


def _text(word: bytes) -> str:
    return word.decode("utf-8", "backslashreplace")
