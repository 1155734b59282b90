"""Texts as numbers of words, a lot of whole texts at once: for what looks at words side by side."""

import tempfile
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from types import TracebackType

import numpy as np

from tfattn import files
from tfattn.preprocessing.passages import batches_of

# A stream is int32: the numbers of words, a word that is dropped, and what stands behind each text.
DROPPED, END_OF_TEXT = -1, -2

Divide = Callable[[str], list[str]]
Number = Callable[[list[list[str]]], np.ndarray]  # gives the words of several texts, one after the other, numbers


def streams(texts: Iterable[str], divide: Divide, number: Number) -> Iterator[np.ndarray]:
    """Turn texts into streams, each of as many whole texts as are divided at once; words are held no longer."""
    held: list[np.ndarray] = []  # of a text that may go on
    current = 0
    for batch in batches_of(texts):
        words = list(map(divide, batch.passages))
        ids = number(words)
        sizes = np.bincount(np.array(batch.texts) - current, weights=list(map(len, words))).astype(np.int64)
        if len(sizes) == 1:
            held.append(ids)
            continue
        begin = len(ids) - sizes[-1]  # of the last text
        before = sum(map(len, held))
        yield np.insert(np.concatenate([*held, ids[:begin]]), before + np.cumsum(sizes[:-1]), END_OF_TEXT)
        held, current = [ids[begin:]], batch.texts[-1]
    if held:
        yield np.append(np.concatenate(held), np.int32(END_OF_TEXT))


def texts_of(stream: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the numbers of each text of a stream; words that are dropped leave no trace."""
    is_kept = stream >= 0
    ends = np.cumsum(is_kept)[stream == END_OF_TEXT]
    numbers = stream[is_kept]
    for begin, end in pairwise([0, *ends.tolist()]):
        yield numbers[begin:end]


def counts_of(stream: np.ndarray, size: int) -> np.ndarray:
    """Count how often each of the first `size` numbers occurs in a stream: (size,) int64."""
    return np.bincount(stream[stream >= 0], minlength=size)


class StreamFile:
    """Streams in a temporary file, 4 bytes a word, to be read several times; it is gone behind its `with` block.

    Raises:
        TfattnError: the disk of temporary files is full.
    """

    def __init__(self) -> None:
        self._sizes: list[int] = []
        self._numbers: np.ndarray | None = None

    def __enter__(self) -> "StreamFile":
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 (closed in __exit__)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None):
        self._file.close()

    def append(self, stream: np.ndarray) -> None:
        """Write a stream behind the others."""
        with files.disk_errors(tempfile.gettempdir()):
            self._file.write(stream.tobytes())
        self._sizes.append(len(stream))

    def renumber(self, numbers: np.ndarray) -> None:
        """Give each number that was written another, by its place in (numbers,) int32: so they are read from now on."""
        # Python counts from the end: behind the last number stands what a negative one becomes.
        self._numbers = np.append(numbers, [END_OF_TEXT, DROPPED]).astype(np.int32)

    def __iter__(self) -> Iterator[np.ndarray]:
        self._file.seek(0)
        for size in self._sizes:
            stream = np.frombuffer(self._file.read(4 * size), np.int32)
            yield stream if self._numbers is None else self._numbers[stream]
