"""The paths of OpenAI's API: completions, chats, and the models that answer them."""

import asyncio
import contextlib
import json
import re
import time
from collections.abc import AsyncGenerator, Iterator, Mapping
from dataclasses import dataclass, field

from grpc import StatusCode

from tfattn.errors import listed
from tfattn.guidance.grammar import READERS
from tfattn.serving.api.failure import Failure
from tfattn.serving.generation.piece import Piece
from tfattn.serving.generation.request import Request, read
from tfattn.serving.models.models import Models
from tfattn.serving.models.version import Version
from tfattn.serving.monitoring.metrics import Metrics
from tfattn.serving.protocols.health import Health
from tfattn.serving.protocols.rest.accounts import Accounts
from tfattn.serving.protocols.rest.body import Disconnected, Receive, read_body, unless_disconnected
from tfattn.serving.protocols.rest.callers import Callers
from tfattn.serving.protocols.rest.openai.answer import DONE, Answer, data
from tfattn.serving.protocols.rest.openai.chat import ChatFields
from tfattn.serving.protocols.rest.openai.completion import CompletionFields
from tfattn.serving.protocols.rest.openai.errors import error_object, error_response
from tfattn.serving.protocols.rest.openai.fields import wrong
from tfattn.serving.protocols.rest.parse import LARGE
from tfattn.serving.protocols.rest.response import Response, StreamedResponse
from tfattn.serving.section import Serving

MODELS = b"/v1/models"
FIELDS = {b"/v1/completions": CompletionFields, b"/v1/chat/completions": ChatFields}
EVENTS = b"text/event-stream; charset=utf-8"
_MODEL = re.compile(r"(.*?)(?:/versions/([0-9]{1,19})|/labels/([^/]+))?", re.DOTALL)
HEADERS = ((b"cache-control", b"no-cache"), (b"x-accel-buffering", b"no"))  # proxies must not collect the events


@dataclass
class Call:
    """A request under way.

    Attributes:
        api: its path without the version.
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

    def has(self, method: str, path: bytes) -> bool:
        """Tell whether a request is for this API."""
        is_known = path in FIELDS if method == "POST" else (method, path) == ("GET", MODELS)
        return is_known and any(self._writers())

    async def respond(
        self, path: bytes, headers: Mapping[bytes, bytes], receive: Receive
    ) -> Response | StreamedResponse:
        """Make the response of a request that is for this API."""
        call = Call(path.decode().removeprefix("/v1/").replace("/", "_"))
        try:
            self._callers.check(headers)
            response = self._listed() if path == MODELS else await self._answered(call, path, headers, receive)
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
        request, answer = await asyncio.to_thread(fields.answer) if len(body) > LARGE else fields.answer()
        pieces = self._pieces(call, fields.prompt_name, request)
        async with unless_disconnected(receive):
            if not fields.stream:
                return Response(200, answer.whole([piece async for piece in pieces]))
            events = self._events(call, answer, pieces, tells_usage=fields.tells_usage)
            first = await anext(events)  # by then it is known whether the request can be answered
        return StreamedResponse(first, events, EVENTS, HEADERS)

    async def _pieces(self, call: Call, prompt_name: str, request: Request) -> AsyncGenerator[Piece, None]:
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
                        # All else has been checked.
                        guided = (name for name in READERS if failure.message.startswith(name))
                        failure.parameter = next(guided, prompt_name)
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
        self, call: Call, answer: Answer, pieces: AsyncGenerator[Piece, None], *, tells_usage: bool
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
            raise wrong("model", f"{name} does not write texts; POST /v1/models/{name}:predict asks it")
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
                created = self._models.find(name).number  # the time of its export, unless somebody numbered it
                models.append({"id": name, "object": "model", "created": created, "owned_by": "tfattn"})
        return Response(200, json.dumps({"object": "list", "data": models}).encode())

    def _tell(self, call: Call, error: BaseException | None = None) -> None:
        """Count and log a request, once."""
        if not call.is_told:
            call.is_told = True
            seconds = time.perf_counter() - call.start
            self._accounts.tell(call.api, call.model, call.version, _code(error), seconds)


def _code(error: BaseException | None) -> StatusCode:
    if error is None:
        return StatusCode.OK
    if isinstance(error, Failure):
        return error.code
    is_gone = isinstance(error, Disconnected | GeneratorExit | asyncio.CancelledError)
    return StatusCode.CANCELLED if is_gone else StatusCode.INTERNAL
