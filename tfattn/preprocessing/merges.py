"""Ranks of tokens, computed from the merges of BPE.

SentencePiece, which merges in the graph, has a score for each token and no merges.
"""

from collections.abc import Iterable, Sequence

Merge = tuple[str, str]


def complete_merges(tokens: Iterable[str], merges: Sequence[Merge]) -> dict[str, int] | None:
    """Rank tokens by merges that contain every pair of tokens that makes a token.

    Vocabularies of tiktoken and SentencePiece have ranks of tokens, and no merges: the adjacent pair that makes the
    token of the lowest rank is joined first. In tokenizer.json each is converted to all of its pairs, by rank.

    Args:
        tokens: the tokens.
        merges: pairs of tokens, in the order of their ranks.

    Returns:
        the rank of each token that is made of a pair; None if pairs are missing, so that the merges were learned.
    """
    ranks: dict[str, int] = {}
    for left, right in merges:
        ranks.setdefault(left + right, len(ranks))
    if len(ranks) == len(merges):
        return None  # a merge for each token
    known = set(tokens)
    cuts = ((token[:cut], token[cut:]) for token in ranks for cut in range(1, len(token)))
    return ranks if sum(left in known and right in known for left, right in cuts) == len(set(merges)) else None


def live_merges(characters: Iterable[str], merges: Iterable[Merge]) -> dict[str, int]:
    """Find the tokens that BPE can make, and the rank of the merge that makes each token.

    BPE joins the adjacent pair of the lowest rank, the leftmost first, until no pair is left. Some merges never apply:
    with the merges `b c`, `a b`, `ab c`, the text `abc` becomes `a bc`, and the third merge is dead. Each token is made
    by exactly one merge, so the rank of a token can replace the rank of its merge.

    Args:
        characters: the single characters that merging starts from.
        merges: pairs of tokens, in the order of their ranks.

    Returns:
        the rank of each token that can be made.

    Source: the compatibility test of GitHub's `bpe` (rust-gems), with a proof by its authors.
    """
    ranks = dict.fromkeys(characters, -1)
    halves: dict[str, Merge] = {}
    for rank, (left, right) in enumerate(merges):
        token = left + right
        is_new = left in ranks and right in ranks and token not in ranks
        if is_new and _are_compatible(left, right, rank, ranks, halves):
            ranks[token] = rank
            halves[token] = left, right
    return {token: rank for token, rank in ranks.items() if rank >= 0}


def _are_compatible(left: str, right: str, limit: int, ranks: dict[str, int], halves: dict[str, Merge]) -> bool:
    """Return whether no merge of a rank below `limit` crosses the boundary of two tokens."""
    while True:
        joined = left + right
        if halves.get(joined) == (left, right) and ranks[joined] < limit:
            return False
        if ranks[left] > ranks[right]:  # undo the later merge, at the boundary
            limit = ranks[left]
            left = halves[left][1]
        elif right in halves:
            limit = ranks[right] + 1  # of equal tokens, the left one was made first
            right = halves[right][0]
        else:
            return True
