"""Guesses of the tokens that come next: those that stood behind the same tokens before, in the prompt or the text.

A step that reads guesses draws behind each of them, and so checks them: a text is the same as without, in fewer steps
where it repeats what it has read. (Prompt lookup decoding: Saxena 2023; Leviathan et al. 2023, "Fast inference from
transformers via speculative decoding", say why nothing changes.)
"""

from collections.abc import Sequence

LONGEST_MATCH, SHORTEST_MATCH = 4, 2  # tokens; of one alone too little follows
MOST_GUESSED = 8


class Drafts:
    """Guesses for one text.

    How many tokens are guessed follows from how well it goes: twice as many after guesses that were all right, half as
    many after some that were not.

    Example:
        >>> Drafts().propose([1, 2, 3, 4, 5, 1, 2], most=3)
        [3, 4, 5]
    """

    def __init__(self) -> None:
        self._ends: dict[
            tuple[int, ...], int
        ] = {}  # of some tokens, where what follows them begins; the last such place
        self._num_known = 0
        self._num_guessed = MOST_GUESSED

    def propose(self, token_ids: Sequence[int], *, most: int) -> list[int]:
        """Guess what comes behind a text.

        Args:
            token_ids: of prompt and text, which only grow from call to call.
            most: how many tokens are guessed at most.
        """
        # The tokens at the very end are not known yet: nothing follows them.
        for end in range(self._num_known + 1, len(token_ids)):
            for length in range(SHORTEST_MATCH, min(LONGEST_MATCH, end) + 1):
                self._ends[tuple(token_ids[end - length : end])] = end
        self._num_known = max(self._num_known, len(token_ids) - 1)
        for length in range(min(LONGEST_MATCH, len(token_ids)), SHORTEST_MATCH - 1, -1):
            start = self._ends.get(tuple(token_ids[-length:]))
            if start is not None:
                return _repeated(token_ids, start, min(most, self._num_guessed))
        return []

    def learn(self, num_guessed: int, num_right: int) -> None:
        """Hear how many of the tokens that were guessed were right."""
        if num_guessed and num_right == num_guessed:
            self._num_guessed = min(2 * self._num_guessed, MOST_GUESSED)
        elif num_guessed:
            self._num_guessed = max(1, self._num_guessed // 2)


def num_right(guessed: Sequence[int], drawn: Sequence[int]) -> int:
    """Count how many guesses are what was drawn in their places, until the first that is not.

    Example:
        >>> num_right([3, 4, 5], [3, 4, 6, 7])
        2
    """
    pairs = zip(guessed, drawn, strict=False)  # one more is drawn than is guessed
    return next((place for place, (guess, token_id) in enumerate(pairs) if guess != token_id), len(guessed))


def _repeated(token_ids: Sequence[int], start: int, count: int) -> list[int]:
    """Return what follows a place; where that is the end, it goes on with itself."""
    period = len(token_ids) - start
    return [token_ids[start + place % period] for place in range(count)]
