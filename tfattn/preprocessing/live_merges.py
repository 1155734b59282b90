"""The BPE merges that can ever apply, and the ranks of the tokens that they make."""

from collections.abc import Iterable

Merge = tuple[str, str]


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
