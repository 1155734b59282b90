"""Ranks of tokens: merging by them equals the reference."""

from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models

from tfattn.preprocessing.merges import complete_merges, live_merges

LETTERS = "abc"
numbers = st.integers(0, 1000)


@st.composite
def merge_lists(draw):
    """Pairs of tokens that stand before them, as learning makes them; several may make the same token."""
    tokens, merges = list(LETTERS), []
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


@given(merge_lists(), st.lists(st.text(LETTERS, max_size=14), max_size=20))
def test_merging_by_token_rank_equals_the_reference(made, texts):
    tokens, merges = made
    places = live_merges(LETTERS, merges)
    known = dict.fromkeys(LETTERS, -1) | places
    if any(
        max(known.get(left, -1), known.get(right, -1)) >= place and left + right not in known
        for place, (left, right) in enumerate(merges)
    ):
        return  # not as learning makes them: refused when they are read
    reference = Tokenizer(models.BPE({token: number for number, token in enumerate(tokens)}, merges))
    for text in texts:
        assert by_place(text, places) == reference.encode(text).tokens


def test_a_dead_merge_makes_no_token():
    assert live_merges("abc", [("b", "c"), ("a", "b"), ("ab", "c")]) == {"bc": 0, "ab": 1}
    assert live_merges("abc", [("a", "b"), ("b", "c"), ("ab", "c")]) == {"ab": 0, "bc": 1, "abc": 2}


def test_a_token_has_the_rank_of_its_live_merge():
    assert live_merges("abc", [("b", "c"), ("a", "b"), ("ab", "c"), ("a", "bc")])["abc"] == 3


@st.composite
def vocabularies(draw):
    """Return tokens by rank, and all pairs of tokens that make a token, as they are converted to tokenizer.json."""
    longer = draw(st.lists(st.text(LETTERS, min_size=2, max_size=5), unique=True, min_size=2, max_size=9))
    ids = {token: number for number, token in enumerate([*LETTERS, *longer])}
    merges = []
    for token in longer:
        pairs = [(token[:cut], token[cut:]) for cut in range(1, len(token))]
        known = [pair for pair in pairs if pair[0] in ids and pair[1] in ids]
        merges += sorted(known, key=lambda pair: (ids[pair[0]], ids[pair[1]]))
    return ids, merges


@given(vocabularies(), st.lists(st.text(LETTERS, max_size=14), max_size=20))
def test_merging_by_the_ranks_of_all_pairs_equals_the_reference(made, texts):
    ids, merges = made
    places = complete_merges(ids, merges)
    if places is None:
        return  # a merge for each token, as learning makes them
    reference = Tokenizer(models.BPE(ids, merges))
    for text in texts:
        assert by_place(text, places) == reference.encode(text).tokens


def test_merges_with_missing_pairs_are_learned():
    assert complete_merges(["a", "b", "c", "ab", "bc", "abc"], [("a", "b"), ("b", "c"), ("ab", "c")]) is None
    assert complete_merges(["a", "b", "c", "ab", "bc", "abc"], [("b", "c"), ("b", "c"), ("ab", "c")]) is None
    assert complete_merges(["a", "b", "ab"], []) is None
