"""Which tokens may come next in one text."""

import contextlib
import threading
from collections import OrderedDict
from collections.abc import Collection, Iterator

import numpy as np

from tfattn.errors import ServingError
from tfattn.guidance.automaton import ACCEPT, Automaton, Threads
from tfattn.guidance.network import Network
from tfattn.guidance.tokens import Tokens

MOST_MASKS = 1024  # of one automaton, a bit for each token
WHOLE: Threads = frozenset([ACCEPT])  # a text to which nothing can be added


class Masks:
    """The masks of an automaton's states, kept once they are made. Several texts, and threads, may share them.

    Args:
        tokens: the vocabulary.
        network: what texts must be.
        where: what says so, for messages.

    Attributes:
        start: the state in which a text begins.

    Raises:
        ServingError: to find out where texts begin takes too much work.
    """

    def __init__(self, tokens: Tokens, network: Network, *, where: str):
        self._tokens, self._where = tokens, where
        self._kept: OrderedDict[Threads, np.ndarray] = OrderedDict()
        self._lock = threading.Lock()
        with self._located():
            self._automaton = Automaton(network)
        self.start = self._automaton.start
        self.allowed(self.start)

    def allowed(self, threads: Threads) -> np.ndarray:
        """Return which tokens may follow in a state, (V,) bool.

        Raises:
            ServingError: to find out takes too much work.
        """
        with self._lock:
            if threads not in self._kept:
                with self._located():
                    allowed = self._tokens.allowed(self._automaton, self._automaton.number(threads))
                self._kept[threads] = np.packbits(allowed)
                if len(self._kept) > MOST_MASKS:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(threads)
            return np.unpackbits(self._kept[threads], count=len(self._tokens.token_bytes)).view(bool)

    def after(self, threads: Threads, token_id: int) -> Threads:
        """Return the state behind a token; an empty one where the token may not follow."""
        with self._lock, self._located():
            state = self._automaton.after(self._automaton.number(threads), self._tokens.token_bytes[token_id])
            return self._automaton.threads(state)

    @contextlib.contextmanager
    def _located(self) -> Iterator[None]:
        try:
            yield
        except ServingError as error:
            error.where = self._where
            raise


class Guide:
    """Tells which tokens may come next in one text, and follows what is written.

    Args:
        masks: of what the text must be.
        end_ids: the tokens that end it, which are no text.

    Example:
        >>> guide = Guides([b"y", b"es", b"no", b""]).of({"guided_choice": ["yes", "no"]}, end_ids=[3])
        >>> guide.allowed()
        array([ True, False,  True, False])
        >>> guide.advance(0)
        >>> guide.allowed()
        array([False,  True, False, False])
        >>> guide.advance(1)
        >>> guide.is_finished
        True
    """

    def __init__(self, masks: Masks, end_ids: Collection[int]):
        self._masks = masks
        self._threads = masks.start
        self._end_ids = sorted(end_ids)

    @property
    def is_finished(self) -> bool:
        """Whether nothing may follow but an end: one need not be written."""
        return self._threads == WHOLE

    def allowed(self) -> np.ndarray:
        """Return which tokens may come next, (V,) bool: at least one, until the text is finished.

        Raises:
            ServingError: to find out takes too much work.
        """
        allowed = self._masks.allowed(self._threads)
        allowed[self._end_ids] = ACCEPT in self._threads
        return allowed

    def advance(self, token_id: int) -> None:
        """Follow a token.

        Raises:
            ValueError: it was not allowed.
            ServingError: as `allowed`.
        """
        if not self.allowed()[token_id]:
            raise ValueError(f"the token {token_id} may not come next")
        self._threads = WHOLE if token_id in self._end_ids else self._masks.after(self._threads, token_id)
