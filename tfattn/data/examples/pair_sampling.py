"""Sampling of sentence pairs from documents for next sentence prediction, as in the original BERT code.

The pieces of all documents are concatenated, so a sentence, or a run of sentences of a document, is a range of pieces.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from random import Random
from typing import NamedTuple

MIN_PIECES = 2  # of both texts together


class Pair(NamedTuple):
    """Two ranges of pieces, ends excluded.

    Attributes:
        first_begin, first_end, second_begin, second_end: the ranges.
        is_random: whether the second text is random, not the continuation of the first.
    """

    first_begin: int
    first_end: int
    second_begin: int
    second_end: int
    is_random: bool


def sample_pairs(
    documents: Sequence[Sequence[int]], number: int, *, room: int, short_seq_prob: float, random: Random
) -> Iterator[Pair]:
    """Divide a document into pairs.

    Sentences are accumulated up to the wanted number of pieces and split at a random sentence boundary. In half of the
    pairs a run of sentences of another document replaces the second text, and the replaced sentences start the next
    pair. If the last pair has a single sentence, the sentence before is added again, because otherwise more than half
    of the pairs would be random; a document of one sentence gives no pair. A pair that is too long loses pieces of its
    longer text, at the front or the back at random.

    Args:
        documents: for each document the first piece of each sentence, and the end of the last sentence; never empty.
        number: index of the document.
        room: maximum number of pieces of both texts.
        short_seq_prob: probability that the pairs of this document are shorter.
        random: the random number generator.

    Source: Devlin et al. 2019, "BERT", appendix A.2, and google-research/bert, create_pretraining_data.py, where a last
    sentence alone always gets a random text.
    """
    positions = documents[number]
    count = len(positions) - 1
    if count < 2:
        return
    is_short = random.random() < short_seq_prob and room > MIN_PIECES
    wanted = random.randint(MIN_PIECES, room) if is_short else room
    begin = 0
    while begin < count:
        is_random = random.random() < 0.5
        end = min(bisect_left(positions, positions[begin] + wanted, begin + 1), count)
        if end == begin + 1 and not is_random:
            begin, end = (begin, end + 1) if end < count else (begin - 1, end)
        cut = random.randint(begin + 1, end - 1) if end > begin + 1 else end
        first = positions[begin], positions[cut]
        if is_random:
            second = _elsewhere(documents, number, cut, wanted - (first[1] - first[0]), random)
            end = cut
        else:
            second = positions[cut], positions[end]
        yield Pair(*_shortened(*first, *second, room, random), is_random)
        begin = end


def _elsewhere(
    documents: Sequence[Sequence[int]], number: int, cut: int, wanted: int, random: Random
) -> tuple[int, int]:
    """Sample a run of sentences of another document; of the only document, not starting at `cut`."""
    if len(documents) > 1:
        other = random.randrange(len(documents) - 1)
        positions = documents[other + (other >= number)]
        begin = random.randrange(len(positions) - 1)
    else:
        positions = documents[number]
        begin = random.randrange(len(positions) - 1 - (cut < len(positions) - 1))
        begin += begin >= cut
    end = min(bisect_left(positions, positions[begin] + wanted, begin + 1), len(positions) - 1)
    return positions[begin], positions[end]


def _shortened(
    first_begin: int, first_end: int, second_begin: int, second_end: int, room: int, random: Random
) -> tuple[int, int, int, int]:
    """Shorten the longer range, or the second of two equal ranges, until both fit."""
    first, second = first_end - first_begin, second_end - second_begin
    if first + second > room:
        second_kept = min(second, max(room // 2, room - first))
        first_kept = min(first, room - second_kept)
        first_front, second_front = _heads(first - first_kept, random), _heads(second - second_kept, random)
        first_begin, second_begin = first_begin + first_front, second_begin + second_front
        first_end, second_end = first_begin + first_kept, second_begin + second_kept
    return first_begin, first_end, second_begin, second_end


def _heads(tosses: int, random: Random) -> int:
    """Count the heads of `tosses` coin tosses."""
    return random.getrandbits(tosses).bit_count() if tosses else 0
