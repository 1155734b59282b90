"""Routing of TF Serving's paths: the model and API method of a request."""

import re
import urllib.parse
from dataclasses import dataclass

from tfattn.serving.api.failure import Failure, invalid

CALLS = ("predict", "classify", "regress")
STATUS, METADATA = "status", "metadata"

_NAME = rb"(?P<model>[^/:]+)"
_VERSION = rb"(?:/versions/(?P<version>[0-9]+)|/labels/(?P<label>[^/:]+))?"
_CALL = re.compile(rb"/v1/models/" + _NAME + _VERSION + rb":(?P<api>classify|regress|predict)", re.IGNORECASE)
_READ = re.compile(rb"/v1/models(?:/" + _NAME + rb")?" + _VERSION + rb"(?:/(?P<api>metadata))?", re.IGNORECASE)
_PREFIX = b"/v1/"

_MAX_VERSION = 2**63 - 1


@dataclass(frozen=True)
class Route:
    """The API method and the model of a request.

    Attributes:
        api: one of CALLS, STATUS or METADATA.
        model: the decoded name of the model.
        version: the number of the version; None if the path has none.
        label: the label of the version; None if the path has none.
    """

    api: str
    model: str
    version: int | None
    label: str | None


def is_api(target: bytes) -> bool:
    """Return whether a path belongs to TF Serving's API, valid or not."""
    return target[: len(_PREFIX)].lower() == _PREFIX


def route(method: str, target: bytes) -> Route:
    """Parse a path under /v1/.

    Args:
        method: the HTTP method.
        target: the raw path with its query, which TF Serving treats as a part of the path.

    Raises:
        Failure: INVALID_ARGUMENT, the path does not exist, or not with this method.

    Example:
        >>> route("POST", b"/v1/models/reports/versions/3:predict")
        Route(api='predict', model='reports', version=3, label=None)
    """
    pattern = {"POST": _CALL, "GET": _READ}.get(method)
    match = pattern.fullmatch(target) if pattern else None
    if match is None:
        raise _malformed(method, target)
    api = (match["api"] or b"").decode()
    if method == "GET":
        api = METADATA if api == METADATA else STATUS
    elif api not in CALLS:  # paths are case-insensitive, methods are not
        raise _malformed(method, target)
    if match["model"] is None:
        raise invalid("Missing model name in request.")
    version = match["version"] and _number(match["version"].decode())
    return Route(api, decode_name(match["model"]), version, decode_name(match["label"]))


def decode_name(name: bytes | None) -> str | None:
    """Decode the percent-encoding of a name in a path."""
    return None if name is None else urllib.parse.unquote_to_bytes(name).decode(errors="replace")


def _number(version: str) -> int:
    digits = version.lstrip("0") or "0"
    if len(digits) > len(str(_MAX_VERSION)) or int(digits) > _MAX_VERSION:
        raise invalid(f"Failed to convert version: {version} to numeric.")
    return int(digits)


def _malformed(method: str, target: bytes) -> Failure:
    return invalid(f"Malformed request: {method} {target.decode(errors='replace')}")
