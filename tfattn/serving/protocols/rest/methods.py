"""The methods of TF Serving's REST API."""

import asyncio
import json
import re
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from google.protobuf.json_format import MessageToDict, MessageToJson
from tensorflow_serving.apis.get_model_metadata_pb2 import SignatureDefMap

from tfattn.serving.api.failure import Failure, invalid
from tfattn.serving.models.models import Models
from tfattn.serving.models.version import Version
from tfattn.serving.protocols import core
from tfattn.serving.protocols.rest import examples, predict_response
from tfattn.serving.protocols.rest.parse import LARGE, parse
from tfattn.serving.protocols.rest.predict_request import InputParser, find_signature, signature_name
from tfattn.serving.section import Serving

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


_JSON_OPTIONS = {"preserving_proto_field_name": True, "always_print_fields_with_no_presence": True}

Value = TypeVar("Value")


@dataclass
class RestRequest:
    """A REST request.

    Attributes:
        route: the method and the model; None if the path is malformed.
        body: the body of the request.
        deadline: the time in the event loop's clock after which the request fails.
        version: the version that answers, once it is found.
    """

    route: Route | None = None
    body: bytes = b""
    deadline: float | None = None
    version: Version | None = None


class Methods:
    """The methods of TF Serving's REST API.

    Args:
        models: the served models.
        serving: the server's settings.
    """

    def __init__(self, models: Models, serving: Serving):
        self._models = models
        self._serving = serving
        # The GIL serializes JSON conversions, so a second one at a time would only use memory.
        self._json_lock = asyncio.Lock()
        self._methods = {
            "predict": self._predict,
            "classify": self._classify,
            "regress": self._regress,
            STATUS: self._status,
            METADATA: self._metadata,
        }

    async def respond(self, request: RestRequest) -> bytes:
        """Return the body of the response.

        Raises:
            Failure: the request cannot be answered.
        """
        return await self._methods[request.route.api](request)

    async def _predict(self, request: RestRequest) -> bytes:
        document = await self._parse(request)
        name = signature_name(document)
        version = self._find(request)
        with version.use():
            parser = InputParser(
                find_signature(version.signatures, name),
                max_rows=self._serving.max_rows,
                cut_integers="integer_range" in self._serving.as_tf_serving,
            )
            parsed = await self._convert(len(request.body) > LARGE, parser.parse, document)
            del document  # frees a multiple of the body's size while the model computes
            _, outputs = await core.predict(version, name, parsed.inputs, deadline=request.deadline)
        return await self._convert(
            predict_response.is_large(outputs),
            predict_response.write,
            outputs,
            row_format=parsed.row_format,
            texts_as_b64="bytes_as_b64" not in self._serving.as_tf_serving,
        )

    async def _classify(self, request: RestRequest) -> bytes:
        name, serialized = await self._read_examples(request)
        return examples.write_classes(
            await core.classify(self._find(request), name, serialized, deadline=request.deadline)
        )

    async def _regress(self, request: RestRequest) -> bytes:
        name, serialized = await self._read_examples(request)
        return examples.write_values(
            await core.regress(self._find(request), name, serialized, deadline=request.deadline)
        )

    async def _status(self, request: RestRequest) -> bytes:
        # Of all versions where the path has a label, as in TF Serving.
        status = core.model_status(self._models, request.route.model, request.route.version)
        return MessageToJson(status, **_JSON_OPTIONS).encode()

    async def _metadata(self, request: RestRequest) -> bytes:
        response = core.metadata(self._find(request))
        signatures = SignatureDefMap()
        response.metadata["signature_def"].Unpack(signatures)
        parts = {
            "model_spec": MessageToDict(response.model_spec, **_JSON_OPTIONS),
            "metadata": {"signature_def": MessageToDict(signatures, **_JSON_OPTIONS)},
        }
        return json.dumps(parts).encode()

    async def _parse(self, request: RestRequest) -> dict:
        return await self._convert(
            len(request.body) > LARGE, parse, request.body, max_nesting=self._serving.max_nesting
        )

    async def _read_examples(self, request: RestRequest) -> tuple[str, list[bytes]]:
        document = await self._parse(request)
        name = signature_name(document)
        large = len(request.body) > LARGE
        return name, await self._convert(large, examples.read, document, max_rows=self._serving.max_rows)

    async def _convert(
        self, is_large: bool, function: Callable[..., Value], *arguments: object, **options: object
    ) -> Value:
        """Call a function, in a thread if its data is large."""
        if not is_large:
            return function(*arguments, **options)
        async with self._json_lock:
            return await asyncio.to_thread(function, *arguments, **options)

    def _find(self, request: RestRequest) -> Version:
        route = request.route
        request.version = self._models.find(route.model, route.version, route.label)
        return request.version
