"""Streams of word ids, each of many whole texts, for operations on adjacent words."""

import tempfile
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from types import TracebackType

import numpy as np

from tfattn import files
from tfattn.preprocessing.passages import batch_passages

# A stream is int32: word ids, a marker for each dropped word, and a marker after each text.
DROPPED, END_OF_TEXT = -1, -2

Segment = Callable[[str], list[str]]
Encode = Callable[[list[list[str]]], np.ndarray]  # maps the words of several texts to ids, concatenated


def encode_streams(texts: Iterable[str], segment: Segment, encode: Encode) -> Iterator[np.ndarray]:
    """Yield streams of the word ids of texts; each stream has the whole texts of a batch of passages."""
    unfinished: list[np.ndarray] = []  # the ids of a text that may continue in the next batch
    current = 0
    for batch in batch_passages(texts):
        words = list(map(segment, batch.passages))
        ids = encode(words)
        sizes = np.bincount(np.array(batch.texts) - current, weights=list(map(len, words))).astype(np.int64)
        if len(sizes) == 1:
            unfinished.append(ids)
            continue
        start = len(ids) - sizes[-1]  # of the last text
        before = sum(map(len, unfinished))
        yield np.insert(np.concatenate([*unfinished, ids[:start]]), before + np.cumsum(sizes[:-1]), END_OF_TEXT)
        unfinished, current = [ids[start:]], batch.texts[-1]
    if unfinished:
        yield np.append(np.concatenate(unfinished), np.int32(END_OF_TEXT))


def split_stream(stream: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the ids of each text of a stream, without dropped words."""
    is_kept = stream >= 0
    ends = np.cumsum(is_kept)[stream == END_OF_TEXT]
    numbers = stream[is_kept]
    for start, end in pairwise([0, *ends.tolist()]):
        yield numbers[start:end]


def count_ids(stream: np.ndarray, size: int) -> np.ndarray:
    """Count the occurrences of each id below `size` in a stream: (size,) int64."""
    return np.bincount(stream[stream >= 0], minlength=size)


class StreamFile:
    """A temporary file of streams, 4 bytes per word, that can be read several times inside its `with` block.

    Raises:
        TfattnError: the disk for temporary files is full.
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
        """Append a stream."""
        with files.disk_errors(tempfile.gettempdir()):
            self._file.write(stream.tobytes())
        self._sizes.append(len(stream))

    def renumber(self, numbers: np.ndarray) -> None:
        """Replace each id `i` by `numbers[i]`, (N,) int32, in all later reads."""
        # Negative markers index from the end, so the last two entries map the markers to themselves.
        self._numbers = np.append(numbers, [END_OF_TEXT, DROPPED]).astype(np.int32)

    def __iter__(self) -> Iterator[np.ndarray]:
        self._file.seek(0)
        for size in self._sizes:
            stream = np.frombuffer(self._file.read(4 * size), np.int32)
            yield stream if self._numbers is None else self._numbers[stream]
