"""Who hears of the texts of a request, and may say that nobody waits for them any more."""

import contextlib
from collections.abc import Callable

from tfattn.serving.api.failure import Failure
from tfattn.serving.generation.piece import Piece

Tell = Callable[[Piece | Failure | None], None]


class Ticket:
    """A request that was submitted.

    Args:
        tell: called in the scheduler's thread, which it must not keep: with pieces of the texts, and exactly once, at
            last, with None or a failure, also where the request was cancelled.

    Attributes:
        is_cancelled: whether nobody waits for it any more.
    """

    def __init__(self, tell: Tell):
        self.is_cancelled = False
        self._tell = tell
        self._open = 0
        self._has_ended = False

    def cancel(self) -> None:
        """Let its rows be free from the next step on; no more pieces are told."""
        self.is_cancelled = True

    def begin(self, num_texts: int) -> None:
        """Note how many texts there are to write."""
        self._open = num_texts

    def tell(self, piece: Piece) -> None:
        """Tell a piece, and once every text has ended, that this was all."""
        if not self.is_cancelled:
            self._tell(piece)
        self._open -= piece.finish_reason is not None
        if not self._open:
            self.end()

    def fail(self, failure: Failure) -> None:
        """Tell that nothing more comes, and why."""
        self.is_cancelled = True
        with contextlib.suppress(Exception):  # the failure may be that nothing can be told
            self.end(failure)

    def end(self, failure: Failure | None = None) -> None:
        """Tell that nothing more comes, unless that was told before."""
        if not self._has_ended:
            self._has_ended = True
            self._tell(failure)
