"""Speculative decoding: proposals of the next tokens from earlier occurrences of the last tokens.

A step verifies proposed tokens: it computes the next token after each of them, and keeps the proposals that match. The
generated text is the same as without proposals, in fewer steps where it repeats itself or the prompt. The proposals are
those of prompt lookup decoding (Saxena 2023). Leviathan et al. 2023, "Fast inference from transformers via speculative
decoding", prove that verification keeps the distribution.
"""

from collections.abc import Sequence

MAX_MATCH, MIN_MATCH = 4, 2  # tokens; a match of a single token predicts little
MAX_PROPOSED = 8


class NgramProposer:
    """Proposals of the next tokens of one sequence.

    The number of proposals adapts: it doubles after proposals that were all accepted, and halves after a rejection.

    Example:
        >>> NgramProposer().propose([1, 2, 3, 4, 5, 1, 2], max_tokens=3)
        [3, 4, 5]
    """

    def __init__(self) -> None:
        # The position after the last occurrence of each n-gram.
        self._positions: dict[tuple[int, ...], int] = {}
        self._num_indexed = 0
        self._num_proposed = MAX_PROPOSED

    def propose(self, token_ids: Sequence[int], *, max_tokens: int) -> list[int]:
        """Propose the tokens that follow the longest earlier match of the last tokens.

        Args:
            token_ids: of prompt and text; they only grow from call to call.
            max_tokens: the most tokens to propose.
        """
        # Nothing follows the last n-grams yet, so they are not indexed.
        for end in range(self._num_indexed + 1, len(token_ids)):
            for length in range(MIN_MATCH, min(MAX_MATCH, end) + 1):
                self._positions[tuple(token_ids[end - length : end])] = end
        self._num_indexed = max(self._num_indexed, len(token_ids) - 1)
        for length in range(min(MAX_MATCH, len(token_ids)), MIN_MATCH - 1, -1):
            start = self._positions.get(tuple(token_ids[-length:]))
            if start is not None:
                return _continuation(token_ids, start, min(max_tokens, self._num_proposed))
        return []

    def update(self, num_proposed: int, num_accepted: int) -> None:
        """Adapt the number of proposals to how many of the last proposals were accepted."""
        if num_proposed and num_accepted == num_proposed:
            self._num_proposed = min(2 * self._num_proposed, MAX_PROPOSED)
        elif num_proposed:
            self._num_proposed = max(1, self._num_proposed // 2)


def count_accepted(proposed: Sequence[int], sampled: Sequence[int]) -> int:
    """Count the proposed tokens before the first that differs from the sampled token at its position.

    Example:
        >>> count_accepted([3, 4, 5], [3, 4, 6, 7])
        2
    """
    pairs = zip(proposed, sampled, strict=False)  # a step samples one token more than were proposed
    return next((index for index, (guess, token_id) in enumerate(pairs) if guess != token_id), len(proposed))


def _continuation(token_ids: Sequence[int], start: int, count: int) -> list[int]:
    """Return the tokens from `start` on, repeated from there where the sequence ends."""
    period = len(token_ids) - start
    return [token_ids[start + index % period] for index in range(count)]
