"""What the page asks for beside TF Serving's API: which models there are, and the card of a version.

/models.json                  a list of models: name, versions (those that answer, newest first), labels
/cards/<name>/<version>.json  what card.py reads; null where the version has no card
"""

import asyncio
import contextlib
import json
import re
from typing import TYPE_CHECKING, Any

from tfattn.serving.api.failure import Failure
from tfattn.serving.models.version import State
from tfattn.serving.page import card
from tfattn.serving.protocols.rest.routes import decoded

if TYPE_CHECKING:
    from tfattn.serving.models.models import Models

_MODELS = b"/models.json"
_CARD = re.compile(rb"/cards/(?P<model>[^/]+)/(?P<version>[0-9]{1,19})\.json")


class PageData:
    """Answers these paths.

    Args:
        models: what is served.
    """

    def __init__(self, models: "Models"):
        self._models = models

    def has(self, path: bytes) -> bool:
        """Whether a path is one of these."""
        return path == _MODELS or _CARD.fullmatch(path) is not None

    async def body(self, path: bytes) -> bytes:
        """The JSON at a path.

        Raises:
            Failure: NOT_FOUND, there is no such version.
        """
        if path == _MODELS:
            return json.dumps([self._listed(name) for name in self._models.names]).encode()
        match = _CARD.fullmatch(path)
        version = self._models.find(decoded(match["model"]), int(match["version"]))
        found = await asyncio.to_thread(card.read, version.folder)
        return b"null" if found is None else found.model_dump_json().encode()

    def _listed(self, name: str) -> dict[str, Any]:
        versions: list[int] = []
        with contextlib.suppress(Failure):  # none is known yet
            versions = [one.number for one in self._models.status(name) if one.state is State.AVAILABLE]
        return {"name": name, "versions": versions, "labels": self._models.labels_of(name)}
