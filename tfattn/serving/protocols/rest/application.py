"""REST as an ASGI application: TF Serving's paths, OpenAI's for texts, health, metrics, and the page."""

import asyncio
import contextlib
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from grpc import StatusCode

from tfattn.serving.api.failure import Failure
from tfattn.serving.models.models import Models
from tfattn.serving.monitoring.logs import log_error
from tfattn.serving.monitoring.metrics import CONTENT_TYPE, Metrics
from tfattn.serving.protocols.health import Health
from tfattn.serving.protocols.rest.accounts import Accounts
from tfattn.serving.protocols.rest.body import Disconnected, Receive, read_body, unless_disconnected
from tfattn.serving.protocols.rest.callers import Callers
from tfattn.serving.protocols.rest.methods import Methods, RestRequest
from tfattn.serving.protocols.rest.openai.texts import Texts
from tfattn.serving.protocols.rest.response import Response, StreamedResponse, error_body, failure_response
from tfattn.serving.protocols.rest.routes import CALLS, is_api, route
from tfattn.serving.section import Serving

METRICS_PATH = b"/monitoring/prometheus/metrics"
LIVE_PATH, READY_PATH = b"/v1/health/live", b"/v1/health/ready"

_HTML_NOT_FOUND = b"<HTML><HEAD>\n<TITLE>404 Not Found</TITLE>\n</HEAD><BODY>\n<H1>Not Found</H1>\n</BODY></HTML>\n"
_CLOSE = (b"connection", b"close")

Scope = Mapping[str, Any]
Send = Callable[[dict[str, Any]], Awaitable[None]]


class BrowserPage(Protocol):
    """The contract of the page for browsers: files, and data for clients that may ask the models."""

    files: Mapping[bytes, Response]

    def has_data(self, path: bytes) -> bool: ...

    async def data(self, path: bytes) -> bytes: ...


class Application:
    """The application for an ASGI server.

    Args:
        models: what is served.
        serving: the settings.
        metrics: what counts.
        health: what the server says of itself.
        page: what stands at other paths.

    Raises:
        ServingError: the token cannot be read.
    """

    def __init__(self, models: Models, serving: Serving, *, metrics: Metrics, health: Health, page: BrowserPage):
        self._serving, self._health, self._page = serving, health, page
        self._callers, self._accounts = Callers(serving), Accounts(models, serving, metrics)
        self._methods = Methods(models, serving)
        self._texts = Texts(
            models, serving, callers=self._callers, accounts=self._accounts, metrics=metrics, health=health
        )
        self._others: dict[bytes, Callable[[], Response]] = {
            METRICS_PATH: lambda: Response(200, metrics.text(), CONTENT_TYPE.encode()),
            **{path: lambda response=response: response for path, response in page.files.items()},
        }
        self._health_paths: dict[bytes, Callable[[], Response]] = {}
        if "health_paths" not in serving.as_tf_serving:
            live = Response(200, b'{"live": true}')
            self._health_paths = {LIVE_PATH: lambda: live, READY_PATH: self._ready}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            response = await self._response(scope, receive)
        except Disconnected:
            return
        except Exception as error:
            log_error(error, entrypoint="REST")
            response = Response(500, error_body("The server failed. Its log says where."))
        headers = list(response.headers)
        if response.content_type:
            headers.append((b"content-type", response.content_type))
        if self._serving.cors and is_api(scope["raw_path"]):
            headers += self._cors_headers()
        if self._health.draining:
            headers.append(_CLOSE)
        start = {"type": "http.response.start", "status": response.status}
        if isinstance(response, StreamedResponse):
            await send({**start, "headers": headers})
            await _stream(response, receive, send)
            return
        await send({**start, "headers": [(b"content-length", str(len(response.body)).encode()), *headers]})
        await send({"type": "http.response.body", "body": response.body})

    async def _response(self, scope: Scope, receive: Receive) -> Response | StreamedResponse:
        method, path, query = scope["method"], scope["raw_path"], scope["query_string"]
        headers = dict(scope["headers"])
        is_read = method in ("GET", "HEAD")
        if is_read and path in self._health_paths:
            return self._health_paths[path]()
        if is_read and (path in self._others or self._page.has_data(path)):
            return await self._looked_up(method, path, headers)
        if not is_api(path):
            return self._not_found(path)
        if method == "OPTIONS":
            return _preflight(headers)
        if self._texts.has(method, path, headers):
            return await self._texts.respond(method, path, headers, receive)
        return await self._called(method, path + b"?" + query if query else path, headers, receive)

    async def _called(self, method: str, target: bytes, headers: Mapping[bytes, bytes], receive: Receive) -> Response:
        """Make the response of one of TF Serving's paths."""
        start = time.perf_counter()  # uvloop's own time stands still within a turn
        request, code = RestRequest(), StatusCode.OK
        try:
            self._callers.check(method, headers)
            request.route = route(method, target)
            return Response(200, await self._in_time(request, headers, receive))
        except Failure as failure:
            code = failure.code
            return failure_response(failure)
        except Disconnected:
            code = StatusCode.CANCELLED
            raise
        except asyncio.CancelledError:  # the server does not wait any longer
            code = StatusCode.UNAVAILABLE
            return failure_response(Failure(code, "The server ended before it could answer"))
        except Exception:
            code = StatusCode.INTERNAL
            raise
        finally:
            api, model = (request.route.api, request.route.model) if request.route else ("", None)
            self._accounts.tell(api, model, request.version, code, time.perf_counter() - start)

    async def _in_time(self, request: RestRequest, headers: Mapping[bytes, bytes], receive: Receive) -> bytes:
        if request.route.api not in CALLS:
            return await self._methods.respond(request)
        request.body = await read_body(receive, headers, self._serving)
        request.deadline = asyncio.get_running_loop().time() + self._serving.timeout_seconds
        try:
            async with asyncio.timeout_at(request.deadline), unless_disconnected(receive):
                return await self._methods.respond(request)
        except TimeoutError:
            raise Failure(StatusCode.DEADLINE_EXCEEDED, "The request took too long to be answered") from None

    def _cors_headers(self) -> list[tuple[bytes, bytes]]:
        allowed = b"Content-Type, Authorization" if self._callers.need_token else b"Content-Type"
        return [
            (b"access-control-allow-origin", b"*"),
            (b"access-control-allow-methods", b"POST, GET"),
            (b"access-control-allow-headers", allowed),
        ]

    def _ready(self) -> Response:
        if self._health.ready:
            return Response(200, b'{"ready": true}')
        why = "The server is about to end" if self._health.draining else "Not every model is available"
        return Response(503, json.dumps({"ready": False, "error": why}).encode())

    async def _looked_up(self, method: str, path: bytes, headers: Mapping[bytes, bytes]) -> Response:
        """Make the response of a file of the page, of metrics, or of what the page shows of models."""
        try:
            if path in self._others:
                self._callers.check_site(headers)
                return self._others[path]()
            self._callers.check(method, headers)
            return Response(200, await self._page.data(path))
        except Failure as failure:
            return failure_response(failure)

    def _not_found(self, path: bytes) -> Response:
        if "not_found_json" in self._serving.as_tf_serving:
            return Response(404, _HTML_NOT_FOUND, b"text/html")
        return Response(404, error_body(f"Not found: {path.decode('latin-1')}"))


async def _stream(response: StreamedResponse, receive: Receive, send: Send) -> None:
    """Send a response piece by piece, as far as the client stays; what breaks off is left without its end."""
    try:
        async with contextlib.aclosing(response.pieces) as pieces, unless_disconnected(receive):
            await send({"type": "http.response.body", "body": response.first, "more_body": True})
            async for piece in pieces:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
    except Disconnected:
        return
    except Exception as error:
        log_error(error, entrypoint="REST")
        return
    await send({"type": "http.response.body", "body": b""})


def _preflight(headers: Mapping[bytes, bytes]) -> Response:
    origin = headers.get(b"origin", b"")
    is_right = b"http://" in origin or b"https://" in origin
    return Response(200 if is_right else 400, b"", content_type=b"")
