"""Masks of the tokens that may follow in a guided text."""

import time
from collections.abc import Collection, Sequence
from concurrent.futures import Executor, Future

import numpy as np
from llguidance import LLMatcher

from tfattn.errors import ServingError
from tfattn.guidance.matcher import matcher_error

MAX_SECONDS = 5.0  # of processor time for all masks of a text


class Guide:
    """The state of a guided text: the mask of next tokens, updated after each token.

    Masks are compute_mask in another thread, so that texts without a guide do not wait for them.

    Args:
        matcher: a matcher that is not shared.
        first: (V + 1,) bool, the mask of the first token, and whether the text may end.
        end_ids: the tokens that end the text.
        executor: the executor of mask computations.
        where: the field of the request, for messages.
        may_stop: whether stop strings and stop tokens may end the text before its constraint is met.

    Attributes:
        mask: the current mask, compute_mask in the background.
        is_finished: whether the text has ended.
        may_stop: as above.

    Example:
        >>> guide = Guides([b"a", b"b", b"ab", b""]).guide({"guided_choice": ["ab", "b"]}, end_ids=[3])
        >>> guide.allowed()
        array([ True,  True,  True, False])
        >>> guide.advance(0)
        >>> guide.allowed()
        array([False,  True, False, False])
        >>> guide.advance(1)
        >>> guide.is_finished
        True
    """

    def __init__(
        self,
        matcher: LLMatcher,
        first: np.ndarray,
        *,
        end_ids: Collection[int],
        executor: Executor,
        where: str,
        may_stop: bool = True,
    ):
        self._matcher, self._executor, self._where = matcher, executor, where
        self.may_stop = may_stop
        self._end_ids = sorted(end_ids)
        self._size = len(first) - 1
        self._seconds = 0.0
        self.is_finished = False
        self.mask: Future[np.ndarray] = Future()
        self.mask.set_result(self._with_ends(first))

    def allowed(self) -> np.ndarray:
        """Wait for `mask` and return it: (V,) bool, at least one True until the text is finished.

        Raises:
            ServingError: the computation exceeds its limits, or no token can follow.
        """
        return self.mask.result()

    def may_end_at(self, token_id: int) -> bool:
        """Return whether an end token or stop token ends the text; a stop token may be a part of a guided text."""
        return self.may_stop or token_id in self._end_ids

    def advance(self, token_id: int) -> None:
        """Accept a token, and start to compute the next mask.

        Raises:
            ValueError: the token is not allowed.
            ServingError: as `allowed`.
        """
        if not self.allowed()[token_id]:
            raise ValueError(f"the token {token_id} is not allowed")
        if token_id in self._end_ids:
            self.is_finished = True
        elif not self._matcher.consume_token(token_id):
            raise matcher_error(self._matcher, where=self._where)
        else:
            self.is_finished = self._matcher.is_stopped()
        if self.is_finished:
            self.mask = Future()
            self.mask.set_result(self._with_ends(np.arange(self._size + 1) == self._size))
        else:
            self.mask = self._executor.submit(self._next_mask)

    def skip(self, token_ids: Sequence[int]) -> None:
        """Accept tokens that need no masks, and start to compute the next mask.

        Raises:
            ValueError: the tokens are not allowed.
        """
        if not self._matcher.consume_tokens(list(token_ids)):
            raise ValueError(f"the tokens {token_ids} are not allowed")
        self.mask = self._executor.submit(self._next_mask)

    def _next_mask(self) -> np.ndarray:
        start = time.thread_time()
        allowed = compute_mask(self._matcher, self._size, where=self._where)
        self._seconds += time.thread_time() - start
        if self._seconds > MAX_SECONDS:
            raise ServingError(
                "the guide takes too much computation",
                where=self._where,
                expected=f"at most {MAX_SECONDS:g} s of processor time per text",
            )
        return self._with_ends(allowed)

    def _with_ends(self, allowed: np.ndarray) -> np.ndarray:
        may_end, allowed = allowed[self._size], allowed[: self._size].copy()
        allowed[self._end_ids] = may_end
        return allowed


def compute_mask(matcher: LLMatcher, size: int, *, where: str) -> np.ndarray:
    """Compute the mask of next tokens, and whether the text may end: (V + 1,) bool.

    Raises:
        ServingError: the computation exceeds its limits, or no token can follow.
    """
    mask = np.frombuffer(matcher.compute_bitmask(), np.uint8)
    if matcher.is_error():
        raise matcher_error(matcher, where=where)
    return np.unpackbits(mask, count=size + 1, bitorder="little").view(bool)
