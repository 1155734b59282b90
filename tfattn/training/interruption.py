"""A request to stop, by SIGTERM or SIGINT, heard at the next moment at which it does no harm."""

import signal
import threading
from types import FrameType


class Stopped(SystemExit):
    """The run was asked to stop, and has saved its state; ends the process with the status that shells expect (143)."""


class Interruption:
    """Within its block a signal is noted, not obeyed; a second SIGINT is obeyed at once.

    Attributes:
        signal: the number of the signal that came, or 0.

    Example:
        with Interruption() as interruption:
            while not interruption.signal:
                work()
    """

    def __init__(self):
        self.signal = 0

    def __enter__(self) -> "Interruption":
        self._previous = {}
        # Elsewhere than in the main thread Python takes no handlers; whoever runs us there handles signals himself.
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                self._previous[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    @property
    def status(self) -> int:
        """The exit status: 128 + the signal's number, SIGTERM's where another worker was asked."""
        return 128 + (self.signal or signal.SIGTERM)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.signal and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.signal = number
