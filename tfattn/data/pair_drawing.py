"""Pairs of texts out of documents, of which the second follows the first or is a random one, as BERT's own tools do.

Documents are sentences, and sentences are pieces, all of them one after the other: a sentence, and any run of sentences
of one document, is a range of pieces.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from random import Random
from typing import NamedTuple

SHORTEST = 2  # pieces of both texts together


class Pair(NamedTuple):
    """Two ranges of pieces, each with its end excluded.

    Attributes:
        first_begin, first_end, second_begin, second_end: the ranges.
        is_random: whether the second does not follow the first.
    """

    first_begin: int
    first_end: int
    second_begin: int
    second_end: int
    is_random: bool


def pairs_of(
    documents: Sequence[Sequence[int]], number: int, *, room: int, short_seq_prob: float, random: Random
) -> Iterator[Pair]:
    """Divide a document into pairs.

    Sentences are taken until they have enough pieces, and divided at one of their ends. Half of the pairs take a run of
    sentences of another document as their second text instead, and the sentences that are not used so go into the next
    pair. Where a pair ends with a single sentence at the end of the document, the one before joins it again, because
    otherwise more than half would be random; so a document of one sentence gives no pair. A pair that is too long loses
    pieces of its longer text, at the front or the back at random.

    Args:
        documents: of each the places of its sentences among all pieces, and where the last one ends; none is empty.
        number: which of them.
        room: the most pieces of both texts.
        short_seq_prob: the probability that the pairs of this document are shorter.
        random: what is drawn from.

    Source: Devlin et al. 2019, "BERT", appendix A.2, and google-research/bert, create_pretraining_data.py, where a last
    sentence alone always gets a random text.
    """
    places = documents[number]
    count = len(places) - 1
    if count < 2:
        return
    is_short = random.random() < short_seq_prob and room > SHORTEST
    wanted = random.randint(SHORTEST, room) if is_short else room
    begin = 0
    while begin < count:
        is_random = random.random() < 0.5
        end = min(bisect_left(places, places[begin] + wanted, begin + 1), count)
        if end == begin + 1 and not is_random:
            begin, end = (begin, end + 1) if end < count else (begin - 1, end)
        cut = random.randint(begin + 1, end - 1) if end > begin + 1 else end
        first = places[begin], places[cut]
        if is_random:
            second = _elsewhere(documents, number, cut, wanted - (first[1] - first[0]), random)
            end = cut
        else:
            second = places[cut], places[end]
        yield Pair(*_shortened(*first, *second, room, random), is_random)
        begin = end


def _elsewhere(
    documents: Sequence[Sequence[int]], number: int, cut: int, wanted: int, random: Random
) -> tuple[int, int]:
    """Draw a run of sentences of another document; of a single one, that begin anywhere but at `cut`."""
    if len(documents) > 1:
        other = random.randrange(len(documents) - 1)
        places = documents[other + (other >= number)]
        begin = random.randrange(len(places) - 1)
    else:
        places = documents[number]
        begin = random.randrange(len(places) - 1 - (cut < len(places) - 1))
        begin += begin >= cut
    end = min(bisect_left(places, places[begin] + wanted, begin + 1), len(places) - 1)
    return places[begin], places[end]


def _shortened(
    first_begin: int, first_end: int, second_begin: int, second_end: int, room: int, random: Random
) -> tuple[int, int, int, int]:
    """Cut the longer of two ranges, at the second of equal ones first, until both have room."""
    first, second = first_end - first_begin, second_end - second_begin
    if first + second > room:
        second_kept = min(second, max(room // 2, room - first))
        first_kept = min(first, room - second_kept)
        first_front, second_front = _heads(first - first_kept, random), _heads(second - second_kept, random)
        first_begin, second_begin = first_begin + first_front, second_begin + second_front
        first_end, second_end = first_begin + first_kept, second_begin + second_kept
    return first_begin, first_end, second_begin, second_end


def _heads(tosses: int, random: Random) -> int:
    """Toss a coin so many times, and count one of its sides."""
    return random.getrandbits(tosses).bit_count() if tosses else 0
