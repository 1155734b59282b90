"""What each of TF Serving's paths answers."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from google.protobuf.json_format import MessageToDict, MessageToJson
from tensorflow_serving.apis.get_model_metadata_pb2 import SignatureDefMap

from tfattn.serving.models.models import Models
from tfattn.serving.models.version import Version
from tfattn.serving.protocols import core
from tfattn.serving.protocols.rest import examples, predict_response
from tfattn.serving.protocols.rest.parse import LARGE, parse
from tfattn.serving.protocols.rest.predict_request import Reader, find_signature, signature_name
from tfattn.serving.protocols.rest.routes import METADATA, STATUS, Route
from tfattn.serving.section import Serving

_AS_TF_SERVING = {"preserving_proto_field_name": True, "always_print_fields_with_no_presence": True}

Value = TypeVar("Value")


@dataclass
class Call:
    """One request.

    Attributes:
        route: what it asks for; None where that makes no sense.
        body: its body.
        deadline: when nobody waits for the answer any more, in the event loop's time.
        version: the version that answers, once it is found.
    """

    route: Route | None = None
    body: bytes = b""
    deadline: float | None = None
    version: Version | None = None


class Calls:
    """Answers requests.

    Args:
        models: what is served.
        serving: the settings.
    """

    def __init__(self, models: Models, serving: Serving):
        self._models = models
        self._serving = serving
        # Python reads and writes JSON in one thread at a time: a second one would only take memory.
        self._aside = asyncio.Lock()
        self._answers = {
            "predict": self._predict,
            "classify": self._classify,
            "regress": self._regress,
            STATUS: self._status,
            METADATA: self._metadata,
        }

    async def answer(self, call: Call) -> bytes:
        """The body of the answer.

        Raises:
            Failure: the request cannot be answered; says why.
        """
        return await self._answers[call.route.api](call)

    async def _predict(self, call: Call) -> bytes:
        document = await self._parsed(call)
        name = signature_name(document)
        version = self._find(call)
        with version.use():
            reader = Reader(
                find_signature(version.signatures, name),
                max_rows=self._serving.max_rows,
                cut_integers="integer_range" in self._serving.as_tf_serving,
            )
            request = await self._convert(len(call.body) > LARGE, reader.read, document)
            del document  # which may be many times the body's size, while the model takes its time
            _, outputs = await core.predict(version, name, request.inputs, deadline=call.deadline)
        return await self._convert(
            predict_response.is_large(outputs),
            predict_response.write,
            outputs,
            by_rows=request.by_rows,
            texts_as_b64="bytes_as_b64" not in self._serving.as_tf_serving,
        )

    async def _classify(self, call: Call) -> bytes:
        name, serialized = await self._examples(call)
        return examples.write_classes(await core.classify(self._find(call), name, serialized, deadline=call.deadline))

    async def _regress(self, call: Call) -> bytes:
        name, serialized = await self._examples(call)
        return examples.write_values(await core.regress(self._find(call), name, serialized, deadline=call.deadline))

    async def _status(self, call: Call) -> bytes:
        # Of all versions where the path has a label, as in TF Serving.
        status = core.model_status(self._models, call.route.model, call.route.version)
        return MessageToJson(status, **_AS_TF_SERVING).encode()

    async def _metadata(self, call: Call) -> bytes:
        response = core.metadata(self._find(call))
        signatures = SignatureDefMap()
        response.metadata["signature_def"].Unpack(signatures)
        parts = {
            "model_spec": MessageToDict(response.model_spec, **_AS_TF_SERVING),
            "metadata": {"signature_def": MessageToDict(signatures, **_AS_TF_SERVING)},
        }
        return json.dumps(parts).encode()

    async def _parsed(self, call: Call) -> dict:
        return await self._convert(len(call.body) > LARGE, parse, call.body, max_nesting=self._serving.max_nesting)

    async def _examples(self, call: Call) -> tuple[str, list[bytes]]:
        document = await self._parsed(call)
        name = signature_name(document)
        large = len(call.body) > LARGE
        return name, await self._convert(large, examples.read, document, max_rows=self._serving.max_rows)

    async def _convert(
        self, is_large: bool, function: Callable[..., Value], *arguments: object, **options: object
    ) -> Value:
        """Calls a function: here, or in a thread where it takes long."""
        if not is_large:
            return function(*arguments, **options)
        async with self._aside:
            return await asyncio.to_thread(function, *arguments, **options)

    def _find(self, call: Call) -> Version:
        route = call.route
        call.version = self._models.find(route.model, route.version, route.label)
        return call.version
