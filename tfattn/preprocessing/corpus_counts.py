"""The words of a corpus and how often they occur, and its phrases: texts are divided once, as a stream."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tfattn.preprocessing.number_streams import DROPPED, Divide, StreamFile, streams
from tfattn.preprocessing.passages import batches_of
from tfattn.preprocessing.phrase_joins import Phrase
from tfattn.preprocessing.phrases import Phrases
from tfattn.preprocessing.word_counts import NumberedWords, WordCounts, most_frequent


class Corpus(NamedTuple):
    """What was found in texts.

    Attributes:
        counts: how often words and phrases occur; where there are phrases, of frequent words alone.
        total: words.
        phrases: in the order in which they are joined.
    """

    counts: Mapping[str, int]
    total: int
    phrases: list[Phrase]


def count(texts: Iterable[str], divide: Divide) -> Corpus:
    """Count the words of texts."""
    counted = WordCounts()
    for batch in batches_of(texts):
        counted.add(list(map(divide, batch.passages)))
    return Corpus(counted.counts, counted.total, [])


def count_with_phrases(
    texts: Iterable[str], divide: Divide, phrases: Phrases, *, min_count: int, without: frozenset[str]
) -> Corpus:
    """Find the phrases of texts, and count them and the words beside them.

    The numbers of the words of all texts stand on the disk meanwhile, 4 bytes a word: what texts are divided into is
    looked at several times, and dividing them may take long.

    Args:
        texts: read once.
        divide: gives the words of a text.
        phrases: how phrases are found.
        min_count: of a word; rarer ones are in no phrase.
        without: words that are in no phrase.
    """
    counted = NumberedWords()
    with StreamFile() as file:
        for stream in streams(texts, divide, counted.numbers_of):
            file.append(stream)
        words = [word for word, _ in most_frequent(counted.counts, min_count=min_count, without=without)]
        if not words:
            return Corpus(counted.counts, counted.total, [])
        file.renumber(counted.places_in(words, others=DROPPED))
        found, counts = phrases.find(file, words)
    return Corpus(counts, counted.total, found)
