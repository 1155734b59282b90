"""Checks of a server: what is checked, and the function that checks it."""

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

# Allowed deviations from TF Serving.
DEVIATIONS = {
    "integer_range": "integers that overflow their type are refused rather than truncated",
    "not_found_json": "unknown paths are answered in JSON rather than HTML",
    "bytes_as_b64": "texts that are not UTF-8 are returned as b64 objects, or refused",
    "keep_last_version": "the last version stays available when its folder disappears",
    "health_paths": "/v1/health/live and /v1/health/ready report the server's health",
    "browser_safety": "requests that web pages of other sites send through a browser are refused",
    "nesting": "JSON above a depth of nesting is refused",
    "caps": "requests above a size limit are refused",
    "query": "the query part of a URL is ignored",
}


class Mismatch(Exception):
    """Raised when a response differs from the expected response."""

    def __init__(self, expected: str, received: str):
        super().__init__(f"expected {expected}, received {received}")
        self.expected = expected
        self.received = received


class Skipped(Exception):
    """Raised when a check cannot be run on this server; the message names what it needs."""


@dataclass(frozen=True)
class Check:
    """A check of a server.

    Attributes:
        row: the row in the list of checks.
        what: a one-line description.
        run: checks a server; returns the name of an allowed deviation, or None; raises Mismatch or Skipped.
    """

    row: int
    what: str
    run: Callable[[Any], str | None]


def check(row: int, what: str) -> Callable[[Callable], Check]:
    """Return a decorator that turns a function into a check."""
    return lambda function: Check(row, what, function)


def checks_of(module: ModuleType) -> list[Check]:
    """Return the checks of a module in source order."""
    return [value for value in vars(module).values() if isinstance(value, Check)]


def either(as_tf_serving: Callable[[], None], deviation: str, otherwise: Callable[[], None]) -> str | None:
    """Accept the response of TF Serving or an allowed deviation.

    Args:
        as_tf_serving: raises Mismatch unless the response is that of TF Serving.
        deviation: a name in DEVIATIONS.
        otherwise: raises Mismatch unless the response is that of the deviation.

    Returns:
        the name of the deviation; None for the response of TF Serving.
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
