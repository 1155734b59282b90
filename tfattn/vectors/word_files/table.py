"""The rows of a file of word vectors, as they are read."""

import numpy as np

from tfattn import console
from tfattn.errors import DataError
from tfattn.vectors.word_vectors import WordVectors

WIDEST = 1 << 16  # numbers of a vector; no header is believed that tells more
FIRST_ROWS = 1024


class Table:
    """Words and vectors, which take as much memory as has been read, whatever a header tells.

    Args:
        file: the name of the file.
        width: how many numbers a vector has.
    """

    def __init__(self, file: str, width: int):
        if not 1 <= width <= WIDEST:
            raise DataError(
                "no vectors have this width", where=file, expected=f"1 to {WIDEST:,} numbers", received=f"{width:,}"
            )
        self.file, self.width = file, width
        self.words: list[str] = []
        self._vectors = np.empty((FIRST_ROWS, width), "float32")

    def __len__(self) -> int:
        return len(self.words)

    def add(self, words: list[bytes], vectors: np.ndarray) -> None:
        """Add N words and their vectors (N, D).

        Bytes that are no UTF-8 are written as Python does in source text, such as `caf\\xe9`, so that words stay
        different.

        Raises:
            DataError: a vector holds what is no number.
        """
        is_finite = np.isfinite(vectors).all(axis=1)
        if not is_finite.all():
            row = int(np.argmin(is_finite))
            wrong = vectors[row][~np.isfinite(vectors[row])][0]
            raise DataError(
                "a vector holds what is no number",
                where=f"{self.file}, row {len(self) + row + 1:,}",
                expected=f"{self.width} finite numbers of the word {_text(words[row])!r}",
                received=str(wrong),
            )
        stop = len(self) + len(words)
        if stop > len(self._vectors):
            # In place where the system can extend it, so that memory is not needed twice.
            self._vectors.resize((max(stop, len(self._vectors) * 3 // 2), self.width), refcheck=False)
        self._vectors[len(self) : stop] = vectors
        self.words += map(_text, words)

    def done(self) -> WordVectors:
        """Return all that was read; of words that come several times the first counts."""
        self._vectors.resize((len(self), self.width), refcheck=False)
        places: dict[str, int] = {}
        for place, word in enumerate(self.words):
            places.setdefault(word, place)
        if len(places) == len(self):
            return WordVectors(self.words, self._vectors)
        twice = len(self) - len(places)
        console.note(f"{self.file}: {twice:,} words stand there twice: their first vectors count")
        return WordVectors([*places], self._vectors[[*places.values()]])


def _text(word: bytes) -> str:
    return word.decode("utf-8", "backslashreplace")
