"""What the server did, one JSON object a line, for machines to collect."""

import enum
import json
import select
import traceback
from datetime import UTC, datetime
from os import write

STANDARD_ERROR = 2
LONGEST_TEXT = 500
MOST_FRAMES = 4


class Log:
    """Writes lines that are whole or not at all, and never waits for whoever reads them.

    A line of up to a page goes into a pipe in one piece, and at once where the pipe has room. Where it has none, the
    line is lost: requests matter more. The next line that is written says how many were.

    Args:
        descriptor: the file descriptor to write to.

    Example:
        >>> log = Log(descriptor=1)
        >>> log("version_available", model="reports", version=3)
        {"time": "2031-05-06T07:08:09.123Z", "event": "version_available", "model": "reports", "version": 3}
    """

    def __init__(self, descriptor: int = STANDARD_ERROR):
        self._descriptor = descriptor
        self._lost = 0

    def __call__(self, event: str, **facts: object) -> None:
        """Writes one line.

        Args:
            event: what happened, such as "version_available".
            facts: about it: texts, of which the first 500 characters are written, numbers, or what has a name or a
                text of its own. Never what a request holds.
        """
        head = {"time": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"), "event": event}
        lost = {"lost_lines": self._lost} if self._lost else {}
        line = _line(head | {name: _plain(fact) for name, fact in facts.items()} | lost)
        if len(line) > select.PIPE_BUF:
            line = _line(head | {"too_long": len(line)} | lost)
        self._lost = 0 if self._written(line) else self._lost + 1

    def _written(self, line: bytes) -> bool:
        poll = select.poll()
        poll.register(self._descriptor, select.POLLOUT)
        if [event for _, event in poll.poll(0)] != [select.POLLOUT]:
            return False
        try:
            return write(self._descriptor, line) == len(line)
        except OSError:  # such as a full disk, of which the server's clients need not know
            return False


log = Log()


def log_error(error: BaseException, **facts: object) -> None:
    """Writes what went wrong in the server itself and where, innermost first, but not what the error says.

    Args:
        error: what was raised; its own text may quote a request.
        facts: what else is known.
    """
    frames = reversed(traceback.extract_tb(error.__traceback__)[-MOST_FRAMES:])
    place = " < ".join(f"{frame.filename}:{frame.lineno} in {frame.name}" for frame in frames)
    log("internal_error", error=type(error).__name__, place=place, **facts)


def _plain(fact: object) -> object:
    if isinstance(fact, bool | int | float | None):
        return fact
    text = fact.name if isinstance(fact, enum.Enum) else str(fact)
    return text if len(text) <= LONGEST_TEXT else text[:LONGEST_TEXT] + "..."


def _line(facts: dict[str, object]) -> bytes:
    return json.dumps(facts).encode() + b"\n"
