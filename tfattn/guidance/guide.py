"""The tokens that may come next in one text."""

import time
from collections.abc import Collection
from concurrent.futures import Executor, Future

import numpy as np
from llguidance import LLMatcher

from tfattn.errors import ServingError
from tfattn.guidance.matcher import failure_of

MAX_SECONDS = 5.0  # of processor time for all masks of one text


class Guide:
    """Computes which tokens may come next in one text, and follows the text.

    Masks are computed in another thread, so that texts without a guide do not wait for them.

    Args:
        matcher: which nothing else uses.
        first: the mask of the first token, (V,) bool, and of the end, (1,).
        end_ids: the tokens that end the text, which are no text.
        executor: where masks are computed.
        where: what asks for the guide, for messages.

    Example:
        >>> guide = Guides([b"a", b"b", b"ab", b""]).of({"guided_choice": ["ab", "b"]}, end_ids=[3])
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
        self, matcher: LLMatcher, first: np.ndarray, *, end_ids: Collection[int], executor: Executor, where: str
    ):
        self._matcher, self._executor, self._where = matcher, executor, where
        self._end_ids = sorted(end_ids)
        self._size = len(first) - 1
        self._seconds = 0.0
        self.is_finished = False
        self.mask: Future[np.ndarray] = Future()
        self.mask.set_result(self._with_ends(first))

    def allowed(self) -> np.ndarray:
        """Return which tokens may come next, (V,) bool: at least one, until the text is finished.

        Waits for `mask`.

        Raises:
            ServingError: to find out takes too much work, or no token can go on.
        """
        return self.mask.result()

    def advance(self, token_id: int) -> None:
        """Follow a token, and begin to compute the next mask.

        Raises:
            ValueError: it was not allowed.
            ServingError: as `allowed`.
        """
        if not self.allowed()[token_id]:
            raise ValueError(f"the token {token_id} may not come next")
        if token_id in self._end_ids:
            self.is_finished = True
        elif not self._matcher.consume_token(token_id):
            raise failure_of(self._matcher, where=self._where)
        else:
            self.is_finished = self._matcher.is_stopped()
        if self.is_finished:
            self.mask = Future()
            self.mask.set_result(self._with_ends(np.arange(self._size + 1) == self._size))
        else:
            self.mask = self._executor.submit(self._next_mask)

    def _next_mask(self) -> np.ndarray:
        start = time.thread_time()
        allowed = computed(self._matcher, self._size, where=self._where)
        self._seconds += time.thread_time() - start
        if self._seconds > MAX_SECONDS:
            raise ServingError(
                "what guides the text takes too much work",
                where=self._where,
                expected=f"at most {MAX_SECONDS:g} s of processor time a text",
            )
        return self._with_ends(allowed)

    def _with_ends(self, allowed: np.ndarray) -> np.ndarray:
        may_end, allowed = allowed[self._size], allowed[: self._size].copy()
        allowed[self._end_ids] = may_end
        return allowed


def computed(matcher: LLMatcher, size: int, *, where: str) -> np.ndarray:
    """Compute which of the tokens may come next, and whether the text may end: (V + 1,) bool.

    Raises:
        ServingError: to find out takes too much work, or no token can go on.
    """
    mask = np.frombuffer(matcher.compute_bitmask(), np.uint8)
    if matcher.is_error():
        raise failure_of(matcher, where=where)
    return np.unpackbits(mask, count=size + 1, bitorder="little").view(bool)
