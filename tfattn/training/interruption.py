"""Requests to stop, by SIGTERM or SIGINT, which are followed at the next safe moment."""

import signal
import threading
from types import FrameType


class Stopped(SystemExit):
    """Raised when the run was asked to stop and has saved its state; the exit status is the one that shells expect."""


class Interruption:
    """Notes SIGTERM and SIGINT within its block instead of ending the process; a second SIGINT ends it at once.

    Attributes:
        signal: the number of the signal that was received, or 0.

    Example:
        with Interruption() as interruption:
            while not interruption.signal:
                work()
    """

    def __init__(self):
        self.signal = 0

    def __enter__(self) -> "Interruption":
        self._previous = {}
        # Outside of the main thread Python takes no handlers; a program that runs us there handles signals itself.
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                self._previous[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    @property
    def status(self) -> int:
        """The exit status: 128 plus the signal's number, or SIGTERM's where another worker received it."""
        return 128 + (self.signal or signal.SIGTERM)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.signal and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.signal = number
