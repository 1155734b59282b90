"""Word counts, phrases and word ids of a corpus; each text is segmented once, as a stream."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, repeat
from typing import NamedTuple

import numpy as np

from tfattn.preprocessing.passages import batch_passages
from tfattn.preprocessing.phrase_joins import Phrase, PhraseJoins
from tfattn.preprocessing.phrases import Phrases
from tfattn.preprocessing.word_counts import NumberedWords, WordCounts, most_frequent
from tfattn.preprocessing.word_streams import DROPPED, Segment, StreamFile, encode_streams, split_stream


class Corpus(NamedTuple):
    """The word counts and phrases of a corpus.

    Attributes:
        counts: how often each word and phrase occurs; with phrases, frequent words only.
        total: the number of words.
        phrases: the phrases in the order in which they are joined.
    """

    counts: Mapping[str, int]
    total: int
    phrases: list[Phrase]


def count(texts: Iterable[str], segment: Segment) -> Corpus:
    """Count the words of texts."""
    counted = WordCounts()
    for batch in batch_passages(texts):
        counted.add(list(map(segment, batch.passages)))
    return Corpus(counted.counts, counted.total, [])


def count_with_phrases(
    texts: Iterable[str], segment: Segment, phrases: Phrases, *, min_count: int, without: frozenset[str]
) -> Corpus:
    """Find the phrases of texts, and count phrases and words.

    The word ids of all texts are written to a temporary file, 4 bytes per word: they are read several times, and
    segmentation may be slow.

    Args:
        texts: the texts, which are read once.
        segment: returns the words of a text.
        phrases: the search for phrases.
        min_count: the lowest count of a word in a phrase.
        without: words that are in no phrase, such as stop words.
    """
    counted = NumberedWords()
    with StreamFile() as file:
        for stream in encode_streams(texts, segment, counted.add_and_number):
            file.append(stream)
        words = [word for word, _ in most_frequent(counted.counts, min_count=min_count, without=without)]
        if not words:
            return Corpus(counted.counts, counted.total, [])
        file.renumber(counted.index_map(words, others=DROPPED))
        found, counts = phrases.find(file, words)
    return Corpus(counts, counted.total, found)


class WordIds:
    """Encoder of texts as word ids.

    Args:
        words: the words in the order of their ids.
        phrases: the phrases to join first, including phrases that are not among `words`.
    """

    def __init__(self, words: Sequence[str], phrases: Sequence[Phrase] = ()):
        parts = (word for phrase in phrases for word in (phrase.first, phrase.second, phrase.word))
        self._ids = {word: number for number, word in enumerate(dict.fromkeys([*words, *parts]))}
        self._size = len(words)
        self._joins = PhraseJoins.from_phrases(phrases, self._ids)

    def __contains__(self, word: str) -> bool:
        """Return whether a word is listed or is part of a phrase."""
        return word in self._ids

    def encode(self, texts: Iterable[str], segment: Segment) -> Iterator[np.ndarray]:
        """Yield the ids of the words of each text, (N,) int32; unlisted words are dropped."""
        for stream in map(self._joins, encode_streams(texts, segment, self._numbers_of)):
            stream[stream >= self._size] = DROPPED
            yield from split_stream(stream)

    def _numbers_of(self, texts: Sequence[list[str]]) -> np.ndarray:
        numbers = map(self._ids.get, chain.from_iterable(texts), repeat(DROPPED))
        return np.fromiter(numbers, np.int32, sum(map(len, texts)))
