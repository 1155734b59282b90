"""Pairs of texts: consecutive whole sentences, half of them random, within documents and limits."""

from itertools import chain
from random import Random

import numpy as np
import pytest

from tfattn.data.examples.pair_sampling import sample_pairs

ROOM = 40


def documents(*sizes):
    """Documents of sentences of some sizes, one behind the other."""
    places, begin = [], 0
    for some in sizes:
        places.append([begin, *(begin + np.cumsum(some)).tolist()])
        begin = places[-1][-1]
    return places


@pytest.fixture(scope="module")
def many():
    random = np.random.default_rng(0)
    return documents(*(random.integers(1, 12, random.integers(2, 30)) for _ in range(400)))


def drawn(places, number, *, seed=0, room=ROOM, short_seq_prob=0.1):
    return list(sample_pairs(places, number, room=room, short_seq_prob=short_seq_prob, random=Random(seed)))


@pytest.fixture(scope="module")
def pairs(many):
    return [(number, drawn(many, number, seed=number)) for number in range(len(many))]


def lengths(pair):
    return pair.first_end - pair.first_begin, pair.second_end - pair.second_begin


def test_half_of_the_pairs_are_random_for_any_document_end(pairs):
    is_random = [pair.is_random for _, some in pairs for pair in some]
    assert abs(np.mean(is_random) - 0.5) < 3 * 0.5 / np.sqrt(len(is_random))


def test_pairs_have_two_texts_within_the_limit(pairs):
    for pair in chain.from_iterable(some for _, some in pairs):
        first, second = lengths(pair)
        assert first >= 1 and second >= 1 and first + second <= ROOM


def test_texts_are_of_one_document_and_random_texts_of_another(many, pairs):
    for number, some in pairs:
        begin, end = many[number][0], many[number][-1]
        for pair in some:
            assert begin <= pair.first_begin < pair.first_end <= end
            is_own = begin <= pair.second_begin < pair.second_end <= end
            assert is_own != pair.is_random
            [other] = {place for place, its in enumerate(many) if its[0] <= pair.second_begin < its[-1]}
            assert pair.second_end <= many[other][-1]


def test_uncut_texts_are_consecutive_whole_sentences(many, pairs):
    ends = set(chain.from_iterable(many))
    whole = [pair for _, some in pairs for pair in some if sum(lengths(pair)) < ROOM]
    assert len(whole) > 100
    for pair in whole:
        assert {pair.first_begin, pair.first_end, pair.second_begin, pair.second_end} <= ends
        assert pair.is_random or pair.first_end == pair.second_begin


def test_sentences_replaced_by_random_text_are_in_the_next_pair(many, pairs):
    for number, some in pairs:
        covered = np.zeros(many[number][-1], bool)
        for pair in some:
            covered[pair.first_begin : pair.first_end] = True
            if not pair.is_random:
                covered[pair.second_begin : pair.second_end] = True
        cut = any(sum(lengths(pair)) == ROOM for pair in some)
        assert cut or covered[many[number][0] :].all()


def test_long_pairs_are_cut_at_both_ends_of_the_longer_text():
    places = documents([100, 3], [50, 50])
    found = [
        pair for seed in range(200) for pair in drawn(places, 0, seed=seed, short_seq_prob=0) if not pair.is_random
    ]
    assert found and {lengths(pair) for pair in found} == {(37, 3)}
    fronts = [pair.first_begin for pair in found]
    assert 20 < np.mean(fronts) < 43, "about half of the 63 that are cut"
    assert len(set(fronts)) > 5


@pytest.mark.parametrize(("first", "second", "kept"), [(30, 30, (20, 20)), (50, 10, (30, 10)), (10, 50, (10, 30))])
def test_the_longer_text_is_cut_first(first, second, kept):
    places = documents([first, second], [5, 5])
    found = [pair for seed in range(20) for pair in drawn(places, 0, seed=seed) if not pair.is_random]
    assert {lengths(pair) for pair in found} == {kept}


def test_short_pairs_have_the_requested_frequency():
    places = documents(*([[5] * 8] * 600))
    first = [lengths(drawn(places, number, seed=number, short_seq_prob=0.5)[0]) for number in range(len(places))]
    shorter = np.mean([sum(both) < 35 for both in first])
    assert 0.3 < shorter < 0.5  # of those drawn to be shorter, some are as long as the others


def test_a_document_of_one_sentence_is_used_only_as_random_text():
    places = documents([5], [4, 4])
    assert drawn(places, 0) == []
    random = [pair for seed in range(20) for pair in drawn(places, 1, seed=seed) if pair.is_random]
    assert random and all((pair.second_begin, pair.second_end) == (0, 5) for pair in random)


def test_random_texts_of_a_single_document_are_from_elsewhere():
    places = documents([4] * 9)
    found = [pair for seed in range(50) for pair in drawn(places, 0, seed=seed, room=12)]
    random = [pair for pair in found if pair.is_random]
    assert random and all(pair.second_begin != pair.first_end for pair in random)


def test_equal_seeds_give_equal_pairs(many):
    assert drawn(many, 3, seed=5) == drawn(many, 3, seed=5) != drawn(many, 3, seed=6)
