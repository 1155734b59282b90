"""The ASGI application: TF Serving's REST API, OpenAI's API, health, metrics, and the page for browsers."""

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
from tfattn.serving.protocols.core import RequestRecord
from tfattn.serving.protocols.rest.body import Disconnected, Receive, read_body, unless_disconnected
from tfattn.serving.protocols.rest.methods import CALLS, Methods, RestRequest, is_api, route
from tfattn.serving.protocols.rest.openai.routes import OpenAIRoutes
from tfattn.serving.protocols.rest.origin_check import Authenticator
from tfattn.serving.protocols.rest.response import Response, StreamedResponse, error_body, failure_response
from tfattn.serving.section import Serving

METRICS_PATH = b"/monitoring/prometheus/metrics"
LIVE_PATH, READY_PATH = b"/v1/health/live", b"/v1/health/ready"

_HTML_NOT_FOUND = b"<HTML><HEAD>\n<TITLE>404 Not Found</TITLE>\n</HEAD><BODY>\n<H1>Not Found</H1>\n</BODY></HTML>\n"
_CLOSE = (b"connection", b"close")

Scope = Mapping[str, Any]
Send = Callable[[dict[str, Any]], Awaitable[None]]


class BrowserPage(Protocol):
    """The interface of the page for browsers: public files, and data for authenticated clients."""

    files: Mapping[bytes, Response]

    def has_data(self, path: bytes) -> bool: ...

    async def data(self, path: bytes) -> Response: ...


class Application:
    """The application for an ASGI server.

    Args:
        models: the served models.
        serving: the server's settings.
        metrics: the server's metrics.
        page: the page for browsers, at other paths.

    Raises:
        ServingError: the token cannot be read.
    """

    def __init__(self, models: Models, serving: Serving, *, metrics: Metrics, page: BrowserPage):
        self._models, self._serving, self._metrics, self._page = models, serving, metrics, page
        self._authenticator = Authenticator(serving)
        self._methods = Methods(models, serving)
        self._openai = OpenAIRoutes(
            models,
            serving,
            authenticator=self._authenticator,
            metrics=metrics,
        )
        self._static: dict[bytes, Callable[[], Response]] = {
            METRICS_PATH: lambda: Response(200, metrics.text(), CONTENT_TYPE.encode()),
            **{path: lambda response=response: response for path, response in page.files.items()},
        }
        self._health_paths: dict[bytes, Callable[[], Response]] = {}
        if "health_paths" not in serving.as_tf_serving:
            live = Response(200, b'{"live": true}')
            self._health_paths = {LIVE_PATH: lambda: live, READY_PATH: self._ready}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            response = await self._respond(scope, receive)
        except Disconnected:
            return
        except Exception as error:
            log_error(error, entrypoint="REST")
            response = Response(500, error_body("The server failed. See its log."))
        headers = list(response.headers)
        if response.content_type:
            headers.append((b"content-type", response.content_type))
        if self._serving.cors and is_api(scope["raw_path"]):
            headers += self._cors_headers()
        if self._models.draining:
            headers.append(_CLOSE)
        start = {"type": "http.response.start", "status": response.status}
        if isinstance(response, StreamedResponse):
            await send({**start, "headers": headers})
            await _stream(response, receive, send)
            return
        await send({**start, "headers": [(b"content-length", str(len(response.body)).encode()), *headers]})
        await send({"type": "http.response.body", "body": response.body})

    async def _respond(self, scope: Scope, receive: Receive) -> Response | StreamedResponse:
        method, path, query = scope["method"], scope["raw_path"], scope["query_string"]
        headers = dict(scope["headers"])
        is_read = method in ("GET", "HEAD")
        if is_read and path in self._health_paths:
            return self._health_paths[path]()
        if is_read and (path in self._static or self._page.has_data(path)):
            return await self._read_page(method, path, headers)
        if not is_api(path):
            return self._not_found(path)
        if method == "OPTIONS":
            return _preflight(headers)
        if self._openai.has(method, path, headers):
            return await self._openai.respond(method, path, headers, receive)
        return await self._call_method(method, path + b"?" + query if query else path, headers, receive)

    async def _call_method(
        self, method: str, target: bytes, headers: Mapping[bytes, bytes], receive: Receive
    ) -> Response:
        """Respond to a request of TF Serving's API."""
        start = time.perf_counter()  # uvloop's clock does not advance within an iteration
        request, code = RestRequest(), StatusCode.OK
        try:
            self._authenticator.check(method, headers)
            request.route = route(method, target)
            return Response(200, await self._respond_in_time(request, headers, receive))
        except Failure as failure:
            code = failure.code
            return failure_response(failure)
        except Disconnected:
            code = StatusCode.CANCELLED
            raise
        except asyncio.CancelledError:  # the grace period of the shutdown is over
            code = StatusCode.UNAVAILABLE
            return failure_response(Failure(code, "The server ended before it could answer"))
        except Exception:
            code = StatusCode.INTERNAL
            raise
        finally:
            api, model = (request.route.api, request.route.model) if request.route else ("", "")
            record = RequestRecord("REST", api, model, request.version, code, time.perf_counter() - start)
            record.write(self._models, self._serving, self._metrics)

    async def _respond_in_time(self, request: RestRequest, headers: Mapping[bytes, bytes], receive: Receive) -> bytes:
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
        allowed = b"Content-Type, Authorization" if self._authenticator.needs_token else b"Content-Type"
        return [
            (b"access-control-allow-origin", b"*"),
            (b"access-control-allow-methods", b"POST, GET"),
            (b"access-control-allow-headers", allowed),
        ]

    def _ready(self) -> Response:
        if self._models.ready:
            return Response(200, b'{"ready": true}')
        return Response(503, json.dumps({"ready": False, "error": self._models.readiness}).encode())

    async def _read_page(self, method: str, path: bytes, headers: Mapping[bytes, bytes]) -> Response:
        """Respond with metrics, or with a file or data of the page."""
        try:
            if path in self._static:
                self._authenticator.check_site(headers)
                return self._static[path]()
            self._authenticator.check(method, headers)
            return await self._page.data(path)
        except Failure as failure:
            return failure_response(failure)

    def _not_found(self, path: bytes) -> Response:
        if "not_found_json" in self._serving.as_tf_serving:
            return Response(404, _HTML_NOT_FOUND, b"text/html")
        return Response(404, error_body(f"Not found: {path.decode('latin-1')}"))


async def _stream(response: StreamedResponse, receive: Receive, send: Send) -> None:
    """Send a streamed response until the client disconnects; a failed stream has no final message."""
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
    is_valid = b"http://" in origin or b"https://" in origin
    return Response(200 if is_valid else 400, b"", content_type=b"")
