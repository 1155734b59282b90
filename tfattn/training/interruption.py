"""Requests to stop by SIGTERM or SIGINT, which the training loop handles after a step."""

import signal
import threading
from types import FrameType


class Stopped(SystemExit):
    """Raised after a stopped run has saved its state; the exit status is 128 plus the signal's number."""


class Interruption:
    """A context manager that records SIGTERM and SIGINT; a second SIGINT ends the process at once.

    Attributes:
        signal: the number of the received signal, or 0.

    Example:
        with Interruption() as interruption:
            while not interruption.signal:
                work()
    """

    def __init__(self):
        self.signal = 0

    def __enter__(self) -> "Interruption":
        self._previous = {}
        # Python accepts handlers in the main thread only; in other threads, the calling program handles signals.
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                self._previous[number] = signal.signal(number, self._record)
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    @property
    def status(self) -> int:
        """The exit status: 128 plus the signal's number, or SIGTERM's where another worker received it."""
        return 128 + (self.signal or signal.SIGTERM)

    def _record(self, number: int, frame: FrameType | None) -> None:
        if self.signal and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.signal = number
