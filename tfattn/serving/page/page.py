"""The page at /: its files, from memory, and the data that it reads beside TF Serving's API.

/models.json                  a list of models: name, versions (those that answer, newest first), labels
/cards/<name>/<version>.json  what card.py reads; null where the version has no card
/texts/<name>/<version>.json  what writing.py reads; null where the version does not write texts step by step
"""

import asyncio
import contextlib
import json
import re
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from tfattn.serving.api.failure import Failure
from tfattn.serving.models.models import Models
from tfattn.serving.models.version import VersionState
from tfattn.serving.page import card, writing
from tfattn.serving.protocols.rest.response import Response
from tfattn.serving.protocols.rest.routes import decoded

_MODELS = b"/models.json"
_VERSION = re.compile(rb"/(?P<kind>cards|texts)/(?P<model>[^/]+)/(?P<version>[0-9]{1,19})\.json")
_READ: dict[bytes, Callable[[Path], BaseModel | None]] = {b"cards": card.read, b"texts": writing.read}
_CONTENT_TYPES = {
    "html": b"text/html; charset=utf-8",
    "css": b"text/css; charset=utf-8",
    "js": b"text/javascript; charset=utf-8",
    "svg": b"image/svg+xml",
}
_HEADERS = (
    (
        b"content-security-policy",
        b"default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'",
    ),
    (b"x-frame-options", b"DENY"),  # for browsers that do not know frame-ancestors
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-cache"),
)


class Page:
    """Answers the paths of the page.

    Args:
        models: what is served.

    Attributes:
        files: its files by their paths, which anybody may read.
    """

    def __init__(self, models: Models):
        self.files = dict(_files())
        self._models = models

    def has_data(self, path: bytes) -> bool:
        """Tell whether a path is one of the page's data, which only clients may read that may ask the models."""
        return path == _MODELS or _VERSION.fullmatch(path) is not None

    async def data(self, path: bytes) -> bytes:
        """Return the JSON at a path of the page's data.

        Raises:
            Failure: NOT_FOUND, there is no such version.
        """
        if path == _MODELS:
            return json.dumps([self._listed(name) for name in self._models.names]).encode()
        match = _VERSION.fullmatch(path)
        version = self._models.find(decoded(match["model"]), int(match["version"]))
        found = await asyncio.to_thread(_READ[match["kind"]], version.folder)
        return b"null" if found is None else found.model_dump_json().encode()

    def _listed(self, name: str) -> dict[str, Any]:
        versions: list[int] = []
        with contextlib.suppress(Failure):  # none is known yet
            versions = [one.number for one in self._models.status(name) if one.state is VersionState.AVAILABLE]
        return {"name": name, "versions": versions, "labels": self._models.labels_of(name)}


def _files() -> Iterator[tuple[bytes, Response]]:
    for file in resources.files("tfattn.serving.page").iterdir():
        kind = _CONTENT_TYPES.get(file.name.rpartition(".")[2])
        if kind is not None:
            path = b"/" if file.name == "index.html" else f"/{file.name}".encode()
            yield path, Response(200, file.read_bytes(), kind, _HEADERS)
