"""Proposals continue the longest earlier match, and their number adapts to acceptance."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tfattn.serving.generation.speculative import MAX_PROPOSED, MIN_MATCH, NgramProposer, count_accepted

TOKENS = st.lists(st.integers(0, 2), max_size=60)


def searched(token_ids):
    """The proposals of a search through the whole text: after the last occurrence of the longest match."""
    for length in range(min(4, len(token_ids)), MIN_MATCH - 1, -1):
        for end in range(len(token_ids) - 1, length - 1, -1):
            if token_ids[end - length : end] == token_ids[-length:]:
                return (token_ids[end:] * MAX_PROPOSED)[:MAX_PROPOSED]
    return []


@settings(deadline=None)
@given(TOKENS, st.integers(1, 7))
def test_proposals_follow_the_last_occurrence_of_the_longest_match(token_ids, stride):
    proposer = NgramProposer()
    for end in range(0, len(token_ids) + 1, stride):
        assert proposer.propose(token_ids[:end], max_tokens=MAX_PROPOSED) == searched(token_ids[:end])


def test_proposals_keep_the_limit():
    token_ids = [1, 2, 3, 4, 5, 6, 1, 2]
    assert NgramProposer().propose(token_ids, max_tokens=2) == [3, 4]
    assert NgramProposer().propose([1, 2, 3], max_tokens=8) == NgramProposer().propose([], max_tokens=8) == []


def test_a_repetition_continues():
    assert NgramProposer().propose([7, 1, 2, 1, 2, 1, 2], max_tokens=5) == [1, 2, 1, 2, 1]


def test_rejections_halve_the_proposals_and_acceptance_doubles_them():
    proposer, token_ids = NgramProposer(), [1] * 20
    lengths = []
    for accepted in (0, 1, 0, 0, 0, 1, 2, 4, 8):
        proposed = len(proposer.propose(token_ids, max_tokens=100))
        lengths.append(proposed)
        proposer.update(proposed, accepted)
        proposer.update(0, 0)
    assert lengths == [8, 4, 2, 1, 1, 1, 2, 4, 8]


def test_proposals_are_accepted_up_to_the_first_difference():
    assert count_accepted([1, 2, 3], [1, 2, 3, 9]) == 3
    assert count_accepted([1, 2, 3], [1, 7, 3, 9]) == 1
    assert count_accepted([], [4]) == 0
