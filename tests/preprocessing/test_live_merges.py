"""Merges that are ever done: merging by the place of what is made gives what the reference gives."""

from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models

from tfattn.preprocessing.live_merges import live_merges

CHARACTERS = "abc"
numbers = st.integers(0, 1000)


@st.composite
def merge_lists(draw):
    """Pairs of tokens that stand before them, as learning makes them; several may make the same token."""
    tokens, merges = list(CHARACTERS), []
    for left, right in draw(st.lists(st.tuples(numbers, numbers), max_size=14)):
        pair = tokens[left % len(tokens)], tokens[right % len(tokens)]
        made = "".join(pair)
        if pair not in merges and len(made) < 10:
            merges.append(pair)
            tokens += [made] if made not in tokens else []
    return tokens, merges


def by_place(text, places):
    """Merge the pair of neighbours that makes the token of the first place, the leftmost first."""
    parts = list(text)
    while True:
        found = [
            (places[left + right], number)
            for number, (left, right) in enumerate(zip(parts, parts[1:], strict=False))
            if left + right in places
        ]
        if not found:
            return parts
        _, number = min(found)
        parts[number : number + 2] = [parts[number] + parts[number + 1]]


@given(merge_lists(), st.lists(st.text(CHARACTERS, max_size=14), max_size=20))
def test_merging_by_token_rank_equals_the_reference(made, texts):
    tokens, merges = made
    places = live_merges(CHARACTERS, merges)
    known = dict.fromkeys(CHARACTERS, -1) | places
    if any(
        max(known.get(left, -1), known.get(right, -1)) >= place and left + right not in known
        for place, (left, right) in enumerate(merges)
    ):
        return  # not as learning makes them: refused when they are read
    reference = Tokenizer(models.BPE({token: number for number, token in enumerate(tokens)}, merges))
    for text in texts:
        assert by_place(text, places) == reference.encode(text).tokens


def test_a_merge_whose_neighbours_never_meet_makes_nothing():
    assert live_merges("abc", [("b", "c"), ("a", "b"), ("ab", "c")]) == {"bc": 0, "ab": 1}
    assert live_merges("abc", [("a", "b"), ("b", "c"), ("ab", "c")]) == {"ab": 0, "bc": 1, "abc": 2}


def test_a_token_has_the_rank_of_its_live_merge():
    assert live_merges("abc", [("b", "c"), ("a", "b"), ("ab", "c"), ("a", "bc")])["abc"] == 3
