"""The page for browsers at /: its files, served from memory, and its data in addition to TF Serving's API.

/models.json                  a list of models: name, available versions (newest first), labels
/cards/<name>/<version>.json  the card of a version; null if it has no card
/texts/<name>/<version>.json  the generation settings of a version; null unless it is a language model
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
from tfattn.serving.page import card
from tfattn.serving.protocols.rest.methods import decode_name
from tfattn.serving.protocols.rest.response import Response

_MODELS = b"/models.json"
_VERSION = re.compile(rb"/(?P<kind>cards|texts)/(?P<model>[^/]+)/(?P<version>[0-9]{1,19})\.json")
READERS: dict[bytes, Callable[[Path], BaseModel | None]] = {b"cards": card.read, b"texts": card.read_generation}
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
    (b"x-frame-options", b"DENY"),  # for browsers without support of frame-ancestors
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-cache"),
)


class Page:
    """The page for browsers.

    Args:
        models: the served models.

    Attributes:
        files: the page's files by path, which are public.
    """

    def __init__(self, models: Models):
        self.files = dict(_files())
        self._models = models

    def has_data(self, path: bytes) -> bool:
        """Return whether a path is data of the page, which needs authentication like the models."""
        return path == _MODELS or _VERSION.fullmatch(path) is not None

    async def data(self, path: bytes) -> bytes:
        """Return the JSON at a data path.

        Raises:
            Failure: NOT_FOUND, the version does not exist.
        """
        if path == _MODELS:
            return json.dumps([self._model_entry(name) for name in self._models.names]).encode()
        match = _VERSION.fullmatch(path)
        version = self._models.find(decode_name(match["model"]), int(match["version"]))
        found = await asyncio.to_thread(READERS[match["kind"]], version.folder)
        return b"null" if found is None else found.model_dump_json().encode()

    def _model_entry(self, name: str) -> dict[str, Any]:
        versions: list[int] = []
        with contextlib.suppress(Failure):  # the model has no version yet
            versions = [found.number for found in self._models.status(name) if found.state is VersionState.AVAILABLE]
        return {"name": name, "versions": versions, "labels": self._models.version_labels(name)}


def _files() -> Iterator[tuple[bytes, Response]]:
    for file in resources.files("tfattn.serving.page").iterdir():
        kind = _CONTENT_TYPES.get(file.name.rpartition(".")[2])
        if kind is not None:
            path = b"/" if file.name == "index.html" else f"/{file.name}".encode()
            yield path, Response(200, file.read_bytes(), kind, _HEADERS)
