"""The server's log, one JSON object per line, for machines to collect."""

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
    """A log whose lines are written whole or not at all, and which never waits for its reader.

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
        """Write one line.

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


class Problems:
    """Logs problems when they turn up, and not again for as long as they last.

    Args:
        event: under which it is said.
        facts: what is said with each.
    """

    def __init__(self, event: str, **facts: object):
        self._event, self._facts = event, facts
        self._known: frozenset[str] = frozenset()

    def tell(self, *problems: str) -> None:
        """Take all present problems, and log the new ones."""
        for problem in problems:
            if problem not in self._known:
                log(self._event, **self._facts, problem=problem)
        self._known = frozenset(problems)


def log_error(error: BaseException, **facts: object) -> None:
    """Log an error of the server itself and its place, innermost first, but not its message.

    Args:
        error: what was raised; its own text may quote a request.
        facts: what else is known.
    """
    log("internal_error", error=type(error).__name__, place=_place(error), **facts)


class Errors:
    """Logs errors of the server itself, where they may occur on every try.

    The same error is said the first time, the tenth, the hundredth, and so on, with how often it has come.

    Args:
        facts: what is said with each.
    """

    def __init__(self, **facts: object):
        self._facts = facts
        self._last, self._times = "", 0

    def came(self, error: BaseException) -> None:
        """Count an error, and log it or not."""
        what = f"{type(error).__name__} {_place(error)}"
        self._times = self._times + 1 if what == self._last else 1
        self._last = what
        if self._times == 10 ** (len(str(self._times)) - 1):
            log_error(error, **self._facts, times=self._times)

    def ended(self) -> None:
        """Note that a try has succeeded."""
        self._last, self._times = "", 0


def _place(error: BaseException) -> str:
    frames = reversed(traceback.extract_tb(error.__traceback__)[-MOST_FRAMES:])
    return " < ".join(f"{frame.filename}:{frame.lineno} in {frame.name}" for frame in frames)


def _plain(fact: object) -> object:
    if isinstance(fact, bool | int | float | None):
        return fact
    text = fact.name if isinstance(fact, enum.Enum) else str(fact)
    return text if len(text) <= LONGEST_TEXT else text[:LONGEST_TEXT] + "..."


def _line(facts: dict[str, object]) -> bytes:
    return json.dumps(facts).encode() + b"\n"
