"""Which tokens may come next in one text."""

import threading
from collections import OrderedDict

import numpy as np

from tfattn.guidance.automaton import ACCEPT, Automaton, Threads
from tfattn.guidance.tokens import Tokens

MOST_MASKS = 4096  # of one automaton, a bit for each token


class Guide:
    """Tells which tokens may come next in one text, and follows what is written.

    Args:
        masks: of what the text must be.

    Example:
        >>> guide = Guides([b"y", b"es", b"no", b""], end_ids=[3]).of({"guided_choice": ["yes", "no"]})
        >>> guide.allowed()
        array([ True, False,  True, False])
        >>> guide.advance(0)
        >>> guide.allowed()
        array([False,  True, False, False])
    """

    def __init__(self, masks: "Masks"):
        self._masks = masks
        self._threads = masks.start
        self._has_ended = False

    @property
    def is_finished(self) -> bool:
        """Whether nothing may follow: an end token was written, or there is none and the text is whole."""
        return self._has_ended or self._masks.ends_here(self._threads)

    def allowed(self) -> np.ndarray:
        """Return which tokens may come next, (V,) bool: until the text is finished, at least one."""
        return self._masks.allowed(self._threads) if not self._has_ended else self._masks.none()

    def advance(self, token_id: int) -> None:
        """Follow a token.

        Raises:
            ValueError: it was not allowed.
        """
        if not self.allowed()[token_id]:
            raise ValueError(f"the token {token_id} may not come next")
        if token_id in self._masks.tokens.end_ids:
            self._has_ended = True
        else:
            self._threads = self._masks.after(self._threads, token_id)


class Masks:
    """The masks of an automaton's states, kept once they are made. Several texts, and threads, may share them.

    Args:
        tokens: the vocabulary.
        automaton: what texts must be.
    """

    def __init__(self, tokens: Tokens, automaton: Automaton):
        self.tokens = tokens
        self.start = automaton.start
        self._automaton = automaton
        self._kept: OrderedDict[Threads, np.ndarray] = OrderedDict()
        self._lock = threading.Lock()

    def allowed(self, threads: Threads) -> np.ndarray:
        """Return which tokens may follow in a state, (V,) bool."""
        with self._lock:
            if threads not in self._kept:
                self._kept[threads] = np.packbits(self.tokens.allowed(self._automaton, self._automaton.number(threads)))
                if len(self._kept) > MOST_MASKS:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(threads)
            return np.unpackbits(self._kept[threads], count=len(self.tokens.token_bytes)).view(bool)

    def none(self) -> np.ndarray:
        """Return that no token may follow, (V,) bool."""
        return np.zeros(len(self.tokens.token_bytes), bool)

    def after(self, threads: Threads, token_id: int) -> Threads:
        """Return the state behind a token."""
        with self._lock:
            state = self._automaton.after(self._automaton.number(threads), self.tokens.token_bytes[token_id])
            return self._automaton.threads(state)

    def ends_here(self, threads: Threads) -> bool:
        """Tell whether a text is whole, with nothing that could follow, and no token to say so."""
        return not self.tokens.end_ids and threads == {ACCEPT}
