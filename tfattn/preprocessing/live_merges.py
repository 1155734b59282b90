"""Which merges of a list of byte pairs are ever done, and in which order tokens are therefore made."""

from collections.abc import Iterable

Merge = tuple[str, str]


def live_merges(characters: Iterable[str], merges: Iterable[Merge]) -> dict[str, int]:
    """Find the tokens that merging makes, and the place of the merge that makes each.

    Merging joins the pair of neighbours that comes first in the list, the leftmost one first, until none is left. What
    stands beside two neighbours decides whether they meet at all: `a b`, `b c`, `ab c` never makes `abc` of `abc`, if
    `b c` comes before `a b`. A token that one merge makes is made by no other, so among neighbours that could be joined
    the place of what they make decides as well as the place of their merge.

    Args:
        characters: single ones, which merging begins with.
        merges: pairs of tokens, in order.

    Source: the test of neighbours is that of GitHub's `bpe` (rust-gems), which its authors prove.
    """
    made = dict.fromkeys(characters, -1)
    halves: dict[str, Merge] = {}
    for place, (left, right) in enumerate(merges):
        token = left + right
        if left in made and right in made and token not in made and _meet(left, right, place, made, halves):
            made[token] = place
            halves[token] = left, right
    return {token: place for token, place in made.items() if place >= 0}


def _meet(left: str, right: str, limit: int, made: dict[str, int], halves: dict[str, Merge]) -> bool:
    """Tell whether no merge before `limit` is done across the border of two tokens."""
    while True:
        joined = left + right
        if halves.get(joined) == (left, right) and made[joined] < limit:
            return False
        if made[left] > made[right]:  # undo the later of both, on the side of the border
            limit = made[left]
            left = halves[left][1]
        elif right in halves:
            limit = made[right] + 1  # of equals, the left one was made first
            right = halves[right][0]
        else:
            return True
