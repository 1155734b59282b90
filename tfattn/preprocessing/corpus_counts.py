"""Word counts and phrases of a corpus; each text is segmented once, as a stream."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tfattn.preprocessing.passages import batch_passages
from tfattn.preprocessing.phrase_joins import Phrase
from tfattn.preprocessing.phrases import Phrases
from tfattn.preprocessing.word_counts import NumberedWords, WordCounts, most_frequent
from tfattn.preprocessing.word_streams import DROPPED, Segment, StreamFile, encode_streams


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
