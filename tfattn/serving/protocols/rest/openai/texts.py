"""The paths of OpenAI's API: completions, chats, and the models that answer them."""

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
from tfattn.serving.protocols.health import Health
from tfattn.serving.protocols.rest.accounts import Accounts
from tfattn.serving.protocols.rest.body import Disconnected, Receive, read_body, unless_disconnected
from tfattn.serving.protocols.rest.callers import Callers
from tfattn.serving.protocols.rest.openai import other_fields
from tfattn.serving.protocols.rest.openai.answer import DONE, Answer, data
from tfattn.serving.protocols.rest.openai.chat import ChatFields
from tfattn.serving.protocols.rest.openai.completion import CompletionFields
from tfattn.serving.protocols.rest.openai.errors import (
    ApiFailure,
    error_object,
    error_response,
    invalid_parameter,
)
from tfattn.serving.protocols.rest.openai.fields import TextFields
from tfattn.serving.protocols.rest.parse import LARGE
from tfattn.serving.protocols.rest.response import Response, StreamedResponse
from tfattn.serving.protocols.rest.routes import decoded
from tfattn.serving.section import Serving

MODELS = b"/v1/models"
_MODEL_PATH = re.compile(rb"/v1/models/([^:]+)")
# The rest of OpenAI's API, by the first part of its paths.
_ABSENT = re.compile(
    rb"/v1/(assistants|audio|batches|chat|completions|containers|conversations|embeddings|evals|files|fine_tuning|images"
    rb"|moderations|organization|realtime|responses|threads|uploads|vector_stores|videos)(?:/.*)?",
    re.DOTALL,
)
CLIENT = b"x-stainless-lang"  # a header that OpenAI's own clients send, in every language
FIELDS = {b"/v1/completions": CompletionFields, b"/v1/chat/completions": ChatFields}
EVENTS = b"text/event-stream; charset=utf-8"
_MODEL = re.compile(r"(.*?)(?:/versions/([0-9]{1,19})|/labels/([^/]+))?", re.DOTALL)
IGNORED = b"x-ignored-fields"
HEADERS = ((b"cache-control", b"no-cache"), (b"x-accel-buffering", b"no"))  # proxies must not collect the events


@dataclass
class Call:
    """A request under way.

    Attributes:
        api: what is asked for, such as "chat_completions".
        start: when it came.
        model: the model that it asks.
        version: what answers.
        is_told: whether it has been counted.
    """

    api: str
    start: float = field(default_factory=time.perf_counter)
    model: str | None = None
    version: Version | None = None
    is_told: bool = False


class Texts:
    """Answers the paths of OpenAI's API, where there is a model that writes texts step by step.

    Args:
        models: what is served.
        serving: the settings.
        callers: who may ask.
        accounts: where requests are told.
        metrics: what counts.
        health: what the server says of itself.
    """

    def __init__(
        self,
        models: Models,
        serving: Serving,
        *,
        callers: Callers,
        accounts: Accounts,
        metrics: Metrics,
        health: Health,
    ):
        self._models, self._serving, self._callers = models, serving, callers
        self._accounts, self._metrics, self._health = accounts, metrics, health

    def has(self, method: str, path: bytes, headers: Mapping[bytes, bytes]) -> bool:
        """Return whether a request is for this API: by its path, where a model writes texts or OpenAI's client asks.

        The path of one model is TF Serving's as well, and OpenAI's for OpenAI's clients alone.
        """
        is_client = CLIENT in headers
        if (method, path) == ("GET", MODELS) or _ABSENT.fullmatch(path):
            return is_client or any(self._writers())
        return is_client and _MODEL_PATH.fullmatch(path) is not None

    async def respond(
        self, method: str, path: bytes, headers: Mapping[bytes, bytes], receive: Receive
    ) -> Response | StreamedResponse:
        """Make the response of a request that is for this API."""
        call = Call(_api(path))
        try:
            self._callers.check(method, headers)
            if method == "POST" and path in FIELDS:
                response = await self._answered(call, path, headers, receive)
            elif method == "GET" and path == MODELS:
                response = self._listed()
            elif method == "GET" and (match := _MODEL_PATH.fullmatch(path)):
                response = self._retrieved(decoded(match[1]))
            else:
                offered = listed(known.decode() for known in (MODELS, *FIELDS))
                message = f"There is no {method} {path[:100].decode('latin-1')} on this server; there is {offered}"
                raise ApiFailure(StatusCode.NOT_FOUND, message, error_code="unknown_url")
        except Failure as failure:
            self._tell(call, failure)
            return error_response(failure)
        except asyncio.CancelledError:  # the server does not wait any longer
            failure = Failure(StatusCode.UNAVAILABLE, "The server ended before it could answer")
            self._tell(call, failure)
            return error_response(failure)
        except Exception as error:
            self._tell(call, error)
            raise
        if isinstance(response, Response):
            self._tell(call)
        return response

    async def _answered(
        self, call: Call, path: bytes, headers: Mapping[bytes, bytes], receive: Receive
    ) -> Response | StreamedResponse:
        body = await read_body(receive, headers, self._serving)
        fields = await asyncio.to_thread(read, FIELDS[path], body) if len(body) > LARGE else read(FIELDS[path], body)
        call.version = self._find(fields.model)
        call.model = call.version.model
        unknown = fields.unknown()
        headers = ((IGNORED, other_fields.warning(unknown)),) if unknown else ()
        request, answer = await asyncio.to_thread(fields.answer) if len(body) > LARGE else fields.answer()
        pieces = self._pieces(call, fields, request)
        async with unless_disconnected(receive):
            if not fields.stream:
                return Response(200, answer.whole([piece async for piece in pieces]), headers=headers)
            events = self._events(call, answer, pieces, tells_usage=fields.tells_usage)
            first = await anext(events)  # by then it is known whether the request can be answered
        return StreamedResponse(first, events, EVENTS, HEADERS + headers)

    async def _pieces(self, call: Call, fields: TextFields, request: Request) -> AsyncGenerator[OutputChunk, None]:
        """Yield pieces of texts, each of which comes in time."""
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
                    if not self._health.draining:  # then the client has gone
                        raise
                    raise Failure(StatusCode.UNAVAILABLE, "The server ended before the text did") from None
                except Failure as failure:
                    if failure.code is StatusCode.INVALID_ARGUMENT:
                        raise fields.located(failure) from None
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
        self, call: Call, answer: Answer, pieces: AsyncGenerator[OutputChunk, None], *, tells_usage: bool
    ) -> AsyncGenerator[bytes, None]:
        """Yield the events of a stream; the request is told when it ends."""
        usages, begin, has_begun = [], b"".join(answer.begin()), False
        try:
            async with contextlib.aclosing(pieces):
                async for piece in pieces:
                    if piece.usage is not None:
                        usages.append((piece.index, piece.usage))
                    yield begin + answer.event(piece, tells_usage=tells_usage)
                    begin, has_begun = b"", True
            if tells_usage:
                yield answer.usage_event(usages)
        except Failure as failure:
            self._tell(call, failure)
            if not has_begun:
                raise
            yield data(error_object(failure))
        except BaseException as error:  # such as that the client has gone
            self._tell(call, error)
            raise
        else:
            self._tell(call)
            yield DONE

    def _find(self, model: str) -> Version:
        """Find the version of a model: NAME, NAME/versions/NUMBER or NAME/labels/LABEL, as in TF Serving's paths."""
        name, version, label = _MODEL.fullmatch(model).groups()
        try:
            version = self._models.find(name, int(version) if version else None, label)
        except Failure as failure:
            if failure.code is StatusCode.NOT_FOUND:
                failure = Failure(failure.code, f"There is no model {model!r}; there is {listed(self._writers())}")
            failure.parameter = "model"
            raise failure from None
        if not version.writes_texts:
            raise invalid_parameter("model", f"{name} does not write texts; POST /v1/models/{name}:predict asks it")
        return version

    def _writers(self) -> Iterator[str]:
        """Yield the names of the models that write texts, or will once they are loaded."""
        for name in self._models.names:
            with contextlib.suppress(Failure):  # there is no version yet
                if any(version.writes_texts for version in self._models.status(name)):
                    yield name

    def _listed(self) -> Response:
        models = []
        for name in self._writers():
            with contextlib.suppress(Failure):  # none answers yet
                models.append(_described(name, self._models.find(name)))
        return Response(200, json.dumps({"object": "list", "data": models}).encode())

    def _retrieved(self, name: str) -> Response:
        return Response(200, json.dumps(_described(name, self._find(name))).encode())

    def _tell(self, call: Call, error: BaseException | None = None) -> None:
        """Count and log a request, once."""
        if not call.is_told:
            call.is_told = True
            seconds = time.perf_counter() - call.start
            self._accounts.tell(call.api, call.model, call.version, _code(error), seconds)


def _api(path: bytes) -> str:
    """Name a path for metrics and logs, by one of a few words."""
    _, _, first, *rest = path.decode("latin-1").split("/")
    return "_".join([first, *rest]) if path in FIELDS else first


def _described(name: str, version: Version) -> dict[str, Any]:
    # A version's number is the time of its export, unless somebody numbered it.
    return {"id": name, "object": "model", "created": version.number, "owned_by": "tfattn"}


def _code(error: BaseException | None) -> StatusCode:
    if error is None:
        return StatusCode.OK
    if isinstance(error, Failure):
        return error.code
    is_gone = isinstance(error, Disconnected | GeneratorExit | asyncio.CancelledError)
    return StatusCode.CANCELLED if is_gone else StatusCode.INTERNAL
