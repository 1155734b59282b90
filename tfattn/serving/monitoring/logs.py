"""The server's log: structured JSON, one object per line."""

import enum
import json
import select
import traceback
from datetime import UTC, datetime
from os import write

STANDARD_ERROR = 2
MAX_TEXT_LENGTH = 500
MAX_FRAMES = 4


class Log:
    """A non-blocking log with atomic lines.

    Writes of up to a page into a pipe are atomic. If the pipe is full, the line is dropped, so that the log never
    blocks requests. The next line reports the number of dropped lines.

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

    def __call__(self, event: str, **fields: object) -> None:
        """Write a line.

        Args:
            event: the name of the event, such as "version_available".
            fields: the fields of the event: numbers, texts (truncated to 500 characters), enums, or objects with a
                string form. Fields must not contain data of requests.
        """
        head = {"time": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"), "event": event}
        lost = {"lost_lines": self._lost} if self._lost else {}
        line = _line(head | {name: _to_json_value(value) for name, value in fields.items()} | lost)
        if len(line) > select.PIPE_BUF:
            line = _line(head | {"too_long": len(line)} | lost)
        self._lost = 0 if self._write(line) else self._lost + 1

    def _write(self, line: bytes) -> bool:
        poll = select.poll()
        poll.register(self._descriptor, select.POLLOUT)
        if [event for _, event in poll.poll(0)] != [select.POLLOUT]:
            return False
        try:
            return write(self._descriptor, line) == len(line)
        except OSError:  # for example a full disk, which must not affect clients
            return False


log = Log()


class Problems:
    """A log of problems that reports each problem once while it lasts.

    Args:
        event: the name of the event.
        fields: the fields of each line.
    """

    def __init__(self, event: str, **fields: object):
        self._event, self._fields = event, fields
        self._known: frozenset[str] = frozenset()

    def report(self, *problems: str) -> None:
        """Log the problems that are new since the last call."""
        for problem in problems:
            if problem not in self._known:
                log(self._event, **self._fields, problem=problem)
        self._known = frozenset(problems)


def log_error(error: BaseException, **fields: object) -> None:
    """Log the type and location of an internal error, innermost frame first, without its message.

    Args:
        error: the exception, whose message may quote a request.
        fields: further fields.
    """
    log("internal_error", error=type(error).__name__, place=_location(error), **fields)


class Errors:
    """A log of repeated internal errors.

    The same error is logged the first time, the tenth, the hundredth, and so on, with its count.

    Args:
        fields: the fields of each line.
    """

    def __init__(self, **fields: object):
        self._fields = fields
        self._last, self._count = "", 0

    def record(self, error: BaseException) -> None:
        """Count an error, and log it if due."""
        error_key = f"{type(error).__name__} {_location(error)}"
        self._count = self._count + 1 if error_key == self._last else 1
        self._last = error_key
        if self._count == 10 ** (len(str(self._count)) - 1):
            log_error(error, **self._fields, times=self._count)

    def reset(self) -> None:
        """Reset the count after a success."""
        self._last, self._count = "", 0


def _location(error: BaseException) -> str:
    frames = reversed(traceback.extract_tb(error.__traceback__)[-MAX_FRAMES:])
    return " < ".join(f"{frame.filename}:{frame.lineno} in {frame.name}" for frame in frames)


def _to_json_value(value: object) -> object:
    if isinstance(value, bool | int | float | None):
        return value
    text = value.name if isinstance(value, enum.Enum) else str(value)
    return text if len(text) <= MAX_TEXT_LENGTH else text[:MAX_TEXT_LENGTH] + "..."


def _line(fields: dict[str, object]) -> bytes:
    return json.dumps(fields).encode() + b"\n"
