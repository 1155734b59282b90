"""The routes of OpenAI's API: completions, chat, responses, embeddings and models; and reranking."""

import asyncio
import contextlib
import json
import re
import time
from collections.abc import AsyncGenerator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from grpc import StatusCode

from tfattn.errors import listed
from tfattn.serving.api.failure import Failure
from tfattn.serving.generation.output import OutputChunk
from tfattn.serving.generation.request import Request, read
from tfattn.serving.models.models import Models
from tfattn.serving.models.version import Version
from tfattn.serving.monitoring.metrics import Metrics
from tfattn.serving.protocols.core import RequestRecord
from tfattn.serving.protocols.rest.body import Disconnected, Receive, read_body, unless_disconnected
from tfattn.serving.protocols.rest.methods import decode_name
from tfattn.serving.protocols.rest.openai import other_fields
from tfattn.serving.protocols.rest.openai.chat import ChatFields
from tfattn.serving.protocols.rest.openai.completion import CompletionFields
from tfattn.serving.protocols.rest.openai.embeddings import EmbeddingFields
from tfattn.serving.protocols.rest.openai.fields import TextFields
from tfattn.serving.protocols.rest.openai.rerank import RerankFields
from tfattn.serving.protocols.rest.openai.response_builder import ResponseBuilder
from tfattn.serving.protocols.rest.openai.responses import ResponsesFields
from tfattn.serving.protocols.rest.openai.row_fields import RowFields
from tfattn.serving.protocols.rest.origin_check import Authenticator
from tfattn.serving.protocols.rest.parse import LARGE
from tfattn.serving.protocols.rest.response import (
    ApiFailure,
    Header,
    Response,
    StreamedResponse,
    error_response,
    invalid_parameter,
)
from tfattn.serving.section import Serving

MODELS = b"/v1/models"
_MODEL_PATH = re.compile(rb"/v1/models/([^:]+)")
# The rest of OpenAI's API, by the first part of its paths, and reranking.
_OTHER_PATHS = re.compile(
    rb"/v1/(assistants|audio|batches|chat|completions|containers|conversations|embeddings|evals|files|fine_tuning|images"
    rb"|moderations|organization|realtime|rerank|responses|threads|uploads|vector_stores|videos)(?:/.*)?",
    re.DOTALL,
)
CLIENT = b"x-stainless-lang"  # a header that OpenAI's own clients send, in every language
FIELDS: dict[bytes, type[TextFields]] = {
    b"/v1/completions": CompletionFields,
    b"/v1/chat/completions": ChatFields,
    b"/v1/responses": ResponsesFields,
}
ROW_FIELDS: dict[bytes, type[RowFields]] = {b"/v1/embeddings": EmbeddingFields, b"/v1/rerank": RerankFields}
PATHS = (*FIELDS, *ROW_FIELDS)
EVENT_STREAM = b"text/event-stream; charset=utf-8"
_MODEL_NAME = re.compile(r"(.*?)(?:/versions/([0-9]{1,19})|/labels/([^/]+))?", re.DOTALL)
IGNORED_FIELDS = b"x-ignored-fields"
HEADERS = ((b"cache-control", b"no-cache"), (b"x-accel-buffering", b"no"))  # proxies must not collect the events


@dataclass
class Call:
    """The state of a request.

    Attributes:
        api: the name of the method, such as "chat_completions".
        start: the time of arrival.
        model: the name of the model.
        version: the version that answers.
        is_recorded: whether the request is in the metrics and the log.
    """

    api: str
    start: float = field(default_factory=time.perf_counter)
    model: str = ""
    version: Version | None = None
    is_recorded: bool = False


class OpenAIRoutes:
    """The routes of OpenAI's API on a server with models that generate or embed texts, or rerank documents.

    Args:
        models: the served models.
        serving: the server's settings.
        authenticator: checks each request.
        metrics: the server's metrics.
    """

    def __init__(
        self,
        models: Models,
        serving: Serving,
        *,
        authenticator: Authenticator,
        metrics: Metrics,
    ):
        self._models, self._serving, self._authenticator = models, serving, authenticator
        self._metrics = metrics

    def has(self, method: str, path: bytes, headers: Mapping[bytes, bytes]) -> bool:
        """Return whether a request is for this API.

        A path of the API belongs to it if the server has a language model or a model for the path, or the request is
        from OpenAI's client. The path of a single model is also TF Serving's, so only requests from OpenAI's client
        belong to this API.
        """
        is_client = CLIENT in headers
        if (method, path) == ("GET", MODELS) or _OTHER_PATHS.fullmatch(path):
            return is_client or any(self._models_of(*FIELDS, path))
        return is_client and _MODEL_PATH.fullmatch(path) is not None

    async def respond(
        self, method: str, path: bytes, headers: Mapping[bytes, bytes], receive: Receive
    ) -> Response | StreamedResponse:
        """Respond to a request of this API."""
        call = Call(_api(path))
        try:
            self._authenticator.check(method, headers)
            if method == "POST" and path in FIELDS:
                response = await self._generate(call, path, headers, receive)
            elif method == "POST" and path in ROW_FIELDS:
                response = await self._compute(call, path, headers, receive)
            elif method == "GET" and path == MODELS:
                response = self._list_models()
            elif method == "GET" and (match := _MODEL_PATH.fullmatch(path)):
                response = self._retrieve_model(decode_name(match[1]))
            else:
                offered = listed(known.decode() for known in (MODELS, *PATHS))
                message = f"There is no {method} {path[:100].decode('latin-1')} on this server; there is {offered}"
                raise ApiFailure(StatusCode.NOT_FOUND, message, error_code="unknown_url")
        except Failure as failure:
            self._record(call, failure)
            return error_response(failure)
        except asyncio.CancelledError:  # the grace period of the shutdown is over
            failure = Failure(StatusCode.UNAVAILABLE, "The server ended before it could answer")
            self._record(call, failure)
            return error_response(failure)
        except Exception as error:
            self._record(call, error)
            raise
        if isinstance(response, Response):
            self._record(call)
        return response

    async def _compute(self, call: Call, path: bytes, headers: Mapping[bytes, bytes], receive: Receive) -> Response:
        """Respond to a request for the outputs of a signature."""
        body, kind = await read_body(receive, headers, self._serving), ROW_FIELDS[path]
        deadline = asyncio.get_running_loop().time() + self._serving.timeout_seconds
        fields = await asyncio.to_thread(read, kind, body) if len(body) > LARGE else read(kind, body)
        headers = self._check(call, path, fields)
        try:
            async with asyncio.timeout_at(deadline), unless_disconnected(receive):
                with call.version.use():
                    return Response(200, await fields.respond(call.version, deadline), headers=headers)
        except TimeoutError:
            raise Failure(StatusCode.DEADLINE_EXCEEDED, "The request took too long to be answered") from None

    def _check(self, call: Call, path: bytes, fields: TextFields | RowFields) -> tuple[Header, ...]:
        """Find the version of a request and check its unknown fields; return the headers of the response."""
        call.version = self._find(fields.model, path)
        call.model = call.version.model
        unknown_fields = fields.unknown_fields()
        return ((IGNORED_FIELDS, other_fields.warning(unknown_fields)),) if unknown_fields else ()

    async def _generate(
        self, call: Call, path: bytes, headers: Mapping[bytes, bytes], receive: Receive
    ) -> Response | StreamedResponse:
        body = await read_body(receive, headers, self._serving)
        fields = await asyncio.to_thread(read, FIELDS[path], body) if len(body) > LARGE else read(FIELDS[path], body)
        headers = self._check(call, path, fields)
        request, builder = (
            await asyncio.to_thread(fields.model_request) if len(body) > LARGE else fields.model_request()
        )
        pieces = self._pieces(call, fields, request)
        async with unless_disconnected(receive):
            if not fields.stream:
                return Response(200, builder.response([piece async for piece in pieces]), headers=headers)
            events = self._events(call, builder, pieces)
            first = await anext(events)  # a failure of the first event becomes an error response
        return StreamedResponse(first, events, EVENT_STREAM, HEADERS + headers)

    async def _pieces(self, call: Call, fields: TextFields, request: Request) -> AsyncGenerator[OutputChunk, None]:
        """Yield pieces of texts, with a time limit for each."""
        seconds, is_first = self._serving.timeout_seconds, True
        async with contextlib.aclosing(call.version.write(request)) as pieces:
            while True:
                try:
                    async with asyncio.timeout(seconds):
                        piece = await anext(pieces, None)
                except TimeoutError:
                    message = f"The text did not go on within {seconds:g} s"
                    raise Failure(StatusCode.DEADLINE_EXCEEDED, message) from None
                except asyncio.CancelledError:
                    if not self._models.draining:  # then the client has gone
                        raise
                    raise Failure(StatusCode.UNAVAILABLE, "The server ended before the text did") from None
                except Failure as failure:
                    if failure.code is StatusCode.INVALID_ARGUMENT:
                        raise fields.with_location(failure) from None
                    raise
                if piece is None:
                    return
                if is_first:
                    self._metrics.first_piece(call.model, seconds=time.perf_counter() - call.start)
                    is_first = False
                if piece.usage is not None:
                    shares_prompt = piece.index % request.n > 0
                    self._metrics.tokens(call.model, piece.usage.without_prompt() if shares_prompt else piece.usage)
                yield piece

    async def _events(
        self, call: Call, builder: ResponseBuilder, pieces: AsyncGenerator[OutputChunk, None]
    ) -> AsyncGenerator[bytes, None]:
        """Yield the events of a stream; record the request when the stream ends."""
        usages, events, has_started = [], builder.first_events(), False
        try:
            async with contextlib.aclosing(pieces):
                async for piece in pieces:
                    if piece.usage is not None:
                        usages.append((piece.index, piece.usage))
                    if events := events + builder.events(piece):
                        yield events
                        events, has_started = b"", True
        except Failure as failure:
            self._record(call, failure)
            if not has_started:
                raise
            yield builder.error_event(failure)
        except BaseException as error:  # for example, the client has disconnected
            self._record(call, error)
            raise
        else:
            self._record(call)
            yield builder.last_events(usages)

    def _find(self, model: str, *paths: bytes) -> Version:
        """Find the version of NAME, NAME/versions/NUMBER or NAME/labels/LABEL, like in TF Serving's paths.

        Args:
            model: the model of the request.
            paths: the model must answer requests to one of these paths.
        """
        name, version, label = _MODEL_NAME.fullmatch(model).groups()
        try:
            version = self._models.find(name, int(version) if version else None, label)
        except Failure as failure:
            if failure.code is StatusCode.NOT_FOUND:
                known = listed(self._models_of(*paths)) or "none for this path"
                failure = Failure(failure.code, f"There is no model {model!r}; there is {known}")
            failure.parameter = "model"
            raise failure from None
        if not any(_answers(version, path) for path in paths):
            lacks = ROW_FIELDS[paths[0]].needs if paths[0] in ROW_FIELDS else "does not generate text"
            raise invalid_parameter("model", f"{name} {lacks}; use POST /v1/models/{name}:predict")
        return version

    def _models_of(self, *paths: bytes) -> Iterator[str]:
        """Yield the names of the models that answer one of the paths; language models before they are loaded."""
        for name in self._models.names:
            with contextlib.suppress(Failure):  # the model has no version yet
                if any(_answers(version, path) for version in self._models.status(name) for path in paths):
                    yield name

    def _list_models(self) -> Response:
        models = []
        for name in self._models_of(*PATHS):
            with contextlib.suppress(Failure):  # no version is available yet
                models.append(_model_object(name, self._models.find(name)))
        return Response(200, json.dumps({"object": "list", "data": models}).encode())

    def _retrieve_model(self, name: str) -> Response:
        return Response(200, json.dumps(_model_object(name, self._find(name, *PATHS))).encode())

    def _record(self, call: Call, error: BaseException | None = None) -> None:
        """Count and log a request once."""
        if not call.is_recorded:
            call.is_recorded = True
            seconds = time.perf_counter() - call.start
            record = RequestRecord("REST", call.api, call.model, call.version, _code(error), seconds)
            record.write(self._models, self._serving, self._metrics)


def _answers(version: Version, path: bytes) -> bool:
    """Return whether a version answers the requests of a path."""
    if path in ROW_FIELDS:
        return ROW_FIELDS[path].find_signature(version.signatures) is not None
    return path in FIELDS and version.writes_texts


def _api(path: bytes) -> str:
    """Return the name of a path for metrics and logs, from a small set of names."""
    _, _, first, *rest = path.decode("latin-1").split("/")
    return "_".join([first, *rest]) if path in FIELDS else first


def _model_object(name: str, version: Version) -> dict[str, Any]:
    # By default, the number of a version is the time of its export.
    return {"id": name, "object": "model", "created": version.number, "owned_by": "tfattn"}


def _code(error: BaseException | None) -> StatusCode:
    if error is None:
        return StatusCode.OK
    if isinstance(error, Failure):
        return error.code
    is_gone = isinstance(error, Disconnected | GeneratorExit | asyncio.CancelledError)
    return StatusCode.CANCELLED if is_gone else StatusCode.INTERNAL
