"""Guesses of what comes next, from what has stood there before."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tfattn.serving.generation.drafts import MOST_GUESSED, SHORTEST_MATCH, Drafts, num_right

TOKENS = st.lists(st.integers(0, 2), max_size=60)


def slowly(token_ids):
    """What a search through all of a text finds: behind the longest match, the last of these."""
    for length in range(min(4, len(token_ids)), SHORTEST_MATCH - 1, -1):
        for end in range(len(token_ids) - 1, length - 1, -1):
            if token_ids[end - length : end] == token_ids[-length:]:
                return (token_ids[end:] * MOST_GUESSED)[:MOST_GUESSED]
    return []


@settings(deadline=None)
@given(TOKENS, st.integers(1, 7))
def test_guesses_follow_the_longest_match_that_was_seen_last(token_ids, stride):
    drafts = Drafts()
    for end in range(0, len(token_ids) + 1, stride):
        assert drafts.propose(token_ids[:end], most=MOST_GUESSED) == slowly(token_ids[:end])


def test_there_are_no_more_than_are_wanted():
    token_ids = [1, 2, 3, 4, 5, 6, 1, 2]
    assert Drafts().propose(token_ids, most=2) == [3, 4]
    assert Drafts().propose([1, 2, 3], most=8) == Drafts().propose([], most=8) == []


def test_what_repeats_goes_on_repeating():
    assert Drafts().propose([7, 1, 2, 1, 2, 1, 2], most=5) == [1, 2, 1, 2, 1]


def test_after_wrong_guesses_fewer_are_made_and_after_right_ones_more():
    drafts, token_ids = Drafts(), [1] * 20
    lengths = []
    for right in (0, 1, 0, 0, 0, 1, 2, 4, 8):
        guessed = len(drafts.propose(token_ids, most=100))
        lengths.append(guessed)
        drafts.learn(guessed, right)
        drafts.learn(0, 0)
    assert lengths == [8, 4, 2, 1, 1, 1, 2, 4, 8]


def test_guesses_are_right_until_the_first_that_is_not():
    assert num_right([1, 2, 3], [1, 2, 3, 9]) == 3
    assert num_right([1, 2, 3], [1, 7, 3, 9]) == 1
    assert num_right([], [4]) == 0
