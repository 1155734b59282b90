"""The pages for browsers: their files, served from memory, and their data in addition to TF Serving's API.

/                             tries the models that the server computes
/litert.html                  runs a classifier in the browser, with LiteRT.js

/models.json                  a list of models: name, available versions (newest first), labels
/cards/<name>/<version>.json  the card of a version; null if it has no card
/texts/<name>/<version>.json  the generation settings of a version; null unless it is a language model
/litert/<name>/<version>.tflite  the LiteRT file of a version
/litertjs/...                 the files of LiteRT.js, if the server has them
"""

import asyncio
import base64
import contextlib
import hashlib
import json
import re
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path
from typing import Any

from grpc import StatusCode
from pydantic import BaseModel

from tfattn.errors import ServingError
from tfattn.litert import model_file
from tfattn.serving.api.failure import Failure
from tfattn.serving.models.models import Models
from tfattn.serving.models.version import VersionState
from tfattn.serving.page import card
from tfattn.serving.protocols.rest.methods import decode_name
from tfattn.serving.protocols.rest.response import Response

_MODELS = b"/models.json"
_VERSION = re.compile(rb"/(?P<kind>cards|texts)/(?P<model>[^/]+)/(?P<version>[0-9]{1,19})\.json")
_LITERT = re.compile(rb"/litert/(?P<model>[^/]+)/(?P<version>[0-9]{1,19})\.tflite")
READERS: dict[bytes, Callable[[Path], BaseModel | None]] = {b"cards": card.read, b"texts": card.read_generation}
_CONTENT_TYPES = {
    "html": b"text/html; charset=utf-8",
    "css": b"text/css; charset=utf-8",
    "js": b"text/javascript; charset=utf-8",
    "svg": b"image/svg+xml",
    "wasm": b"application/wasm",
}
_LITERT_PAGE = "litert.html"
_IMPORT_MAP = re.compile(rb'<script type="importmap">(.*?)</script>')
# The runtime for browsers with and without relaxed SIMD; the other files need headers that isolate the page.
_LITERT_JS = ("core/dist/index.js", "wasm-utils/dist/index.js") + tuple(
    f"core/wasm/litert_wasm_{kind}internal.{suffix}" for kind in ("", "compat_") for suffix in ("js", "wasm")
)
_POLICY = b"default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'"
_HEADERS = (
    (b"x-frame-options", b"DENY"),  # for browsers without support of frame-ancestors
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-cache"),
)


class Page:
    """The page for browsers.

    Args:
        models: the served models.
        litert_js: the folder with the packages of LiteRT.js; empty for none.

    Attributes:
        files: the page's files by path, which are public.

    Raises:
        ServingError: the folder lacks a file of LiteRT.js.
    """

    def __init__(self, models: Models, *, litert_js: str = ""):
        self.files = dict(_files()) | (dict(_runtime(Path(litert_js))) if litert_js else {})
        self._models = models

    def has_data(self, path: bytes) -> bool:
        """Return whether a path is data of the page, which needs authentication like the models."""
        return path == _MODELS or any(pattern.fullmatch(path) for pattern in (_VERSION, _LITERT))

    async def data(self, path: bytes) -> Response:
        """Return the JSON or the LiteRT file at a data path.

        Raises:
            Failure: NOT_FOUND, the version does not exist, or has no LiteRT file.
        """
        if path == _MODELS:
            return Response(200, json.dumps([self._model_entry(name) for name in self._models.names]).encode())
        match = _VERSION.fullmatch(path) or _LITERT.fullmatch(path)
        version = self._models.find(decode_name(match["model"]), int(match["version"]))
        if match.re is _LITERT:
            return Response(200, await asyncio.to_thread(_litert_file, version.folder), b"application/octet-stream")
        found = await asyncio.to_thread(READERS[match["kind"]], version.folder)
        return Response(200, b"null" if found is None else found.model_dump_json().encode())

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
            content = file.read_bytes()
            policy = _policy_of_litert(content) if file.name == _LITERT_PAGE else _POLICY
            yield path, Response(200, content, kind, ((b"content-security-policy", policy), *_HEADERS))


def _policy_of_litert(page: bytes) -> bytes:
    """Return the policy of the page that runs WebAssembly and has a map of imports."""
    imports = base64.b64encode(hashlib.sha256(_IMPORT_MAP.search(page)[1]).digest())
    return _POLICY + b"; script-src 'self' 'wasm-unsafe-eval' 'sha256-" + imports + b"'"


def _runtime(folder: Path) -> Iterator[tuple[bytes, Response]]:
    """Yield the files of LiteRT.js."""
    for name in _LITERT_JS:
        try:
            content = (folder / name).read_bytes()
        except OSError as error:
            raise ServingError(
                "the folder of `litert_js` has no LiteRT.js",
                where=str(folder),
                expected=name,
                received=error.strerror or "",
                remedy="Install it: `npm install @litertjs/core`, and set `litert_js=node_modules/@litertjs`.",
            ) from None
        kind = _CONTENT_TYPES[name.rpartition(".")[2]]
        yield f"/litertjs/{name}".encode(), Response(200, content, kind, _HEADERS)


def _litert_file(version: Path) -> bytes:
    path = model_file.find(version)
    if path is None:
        raise Failure(
            StatusCode.NOT_FOUND,
            f"{version} has no LiteRT file. Export with `--set export.formats=[saved_model,litert]`.",
        )
    return path.read_bytes()
