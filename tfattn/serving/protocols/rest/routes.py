"""Routes: the model and method of a request, by its method and path, as TF Serving matches them."""

import re
import urllib.parse
from dataclasses import dataclass

from tfattn.serving.api.failure import Failure, invalid

CALLS = ("predict", "classify", "regress")
STATUS, METADATA = "status", "metadata"

_NAME = rb"(?P<model>[^/:]+)"
_VERSION = rb"(?:/versions/(?P<version>[0-9]+)|/labels/(?P<label>[^/:]+))?"
_CALL = re.compile(rb"/v1/models/" + _NAME + _VERSION + rb":(?P<api>classify|regress|predict)", re.IGNORECASE)
_LOOK = re.compile(rb"/v1/models(?:/" + _NAME + rb")?" + _VERSION + rb"(?:/(?P<api>metadata))?", re.IGNORECASE)
_PREFIX = b"/v1/"

_LAST_VERSION = 2**63 - 1


@dataclass(frozen=True)
class Route:
    """The model and method that a request's path names.

    Attributes:
        api: one of CALLS, STATUS or METADATA.
        model: the model's name, decoded.
        version: its version, if the path names one.
        label: or its label.
    """

    api: str
    model: str
    version: int | None
    label: str | None


def is_api(target: bytes) -> bool:
    """Tell whether a path is one of TF Serving's, or would be if it were right."""
    return target[: len(_PREFIX)].lower() == _PREFIX


def route(method: str, target: bytes) -> Route:
    """Find the route of a path under /v1/.

    Args:
        method: of HTTP.
        target: the path as it was sent, with the query, which is held to be a part of it.

    Raises:
        Failure: INVALID_ARGUMENT, there is no such path, or not with this method.

    Example:
        >>> route("POST", b"/v1/models/reports/versions/3:predict")
        Route(api='predict', model='reports', version=3, label=None)
    """
    pattern = {"POST": _CALL, "GET": _LOOK}.get(method)
    match = pattern.fullmatch(target) if pattern else None
    if match is None:
        raise _malformed(method, target)
    api = (match["api"] or b"").decode()
    if method == "GET":
        api = METADATA if api == METADATA else STATUS
    elif api not in CALLS:  # though the path may be in any case
        raise _malformed(method, target)
    if match["model"] is None:
        raise invalid("Missing model name in request.")
    version = match["version"] and _number(match["version"].decode())
    return Route(api, decoded(match["model"]), version, decoded(match["label"]))


def decoded(name: bytes | None) -> str | None:
    """Decode the percent signs of a part of a path."""
    return None if name is None else urllib.parse.unquote_to_bytes(name).decode(errors="replace")


def _number(version: str) -> int:
    digits = version.lstrip("0") or "0"
    if len(digits) > len(str(_LAST_VERSION)) or int(digits) > _LAST_VERSION:
        raise invalid(f"Failed to convert version: {version} to numeric.")
    return int(digits)


def _malformed(method: str, target: bytes) -> Failure:
    return invalid(f"Malformed request: {method} {target.decode(errors='replace')}")
