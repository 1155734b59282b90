"""A check: one row of the list, or a part of one, with its sentence and its function."""

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

# Where a server may answer otherwise than TF Serving and still be compatible with it.
DEVIATIONS = {
    "integer_range": "integers that do not fit their type are refused rather than cut",
    "not_found_json": "unknown paths are answered in JSON rather than HTML",
    "bytes_as_b64": "texts that are not UTF-8 are answered as b64 objects, or refused",
    "keep_last_version": "the last version is served on when its folder vanishes",
    "health_paths": "/v1/health/live and /v1/health/ready tell the server's health",
    "browser_safety": "requests that a web page of another site can make a browser send are refused",
    "nesting": "JSON beyond some depth is refused",
    "caps": "larger requests than a server wants are refused",
    "query": "the query part of a URL is ignored",
}


class Mismatch(Exception):
    """Raised when the server's answer is not the expected one."""

    def __init__(self, expected: str, received: str):
        super().__init__(f"expected {expected}, received {received}")
        self.expected = expected
        self.received = received


class Skipped(Exception):
    """Raised when a check cannot be made of this server; the text names what it would take."""


@dataclass(frozen=True)
class Check:
    """A check of a server.

    Attributes:
        row: the row of the list that it belongs to.
        what: what is checked, in a line.
        run: called with the server; gives the name of the deviation in which it answered, or None where it answered
            as TF Serving does; raises Mismatch or Skipped.
    """

    row: int
    what: str
    run: Callable[[Any], str | None]


def check(row: int, what: str) -> Callable[[Callable], Check]:
    """Make a function a check."""
    return lambda function: Check(row, what, function)


def checks_of(module: ModuleType) -> list[Check]:
    """List the checks of a module, in the order in which they are written."""
    return [value for value in vars(module).values() if isinstance(value, Check)]


def either(as_tf_serving: Callable[[], None], deviation: str, otherwise: Callable[[], None]) -> str | None:
    """Accept TF Serving's answer or an allowed deviation from it.

    Args:
        as_tf_serving: raises Mismatch unless the server answered as TF Serving does.
        deviation: a name in DEVIATIONS.
        otherwise: raises Mismatch unless the server answered as that deviation says.

    Returns:
        the deviation's name where it was needed.
    """
    assert deviation in DEVIATIONS
    try:
        as_tf_serving()
    except Mismatch as first:
        try:
            otherwise()
        except Mismatch as second:
            expected = f"{first.expected}; or, {deviation}: {second.expected}"
            raise Mismatch(expected, second.received) from None
        return deviation
    return None
