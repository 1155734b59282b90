"""The HTTP protocol of uvicorn, with limits on size and time and with errors in JSON."""

import asyncio
import functools
import inspect
import re
from collections.abc import Callable
from typing import Any

import httptools
import uvicorn
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from tfattn.errors import ServingError
from tfattn.serving.protocols.rest.response import JSON, error_body
from tfattn.serving.section import Serving

MAX_HEADERS = 100
MAX_PIPELINED = 100  # requests of a client that wait behind the running request
# Closing a connection while the client still sends resets it, and the client may never read the error.
LINGER_SECONDS = 1.0
MAX_LINGERING = 100

_UPGRADE = re.compile(rb"\r\nupgrade[ \t]*:", re.IGNORECASE)


class _TooLarge(Exception):
    """Raised when the head of a request is larger than the server accepts."""


class _TooMany(Exception):
    """Raised when the client sends more and more requests without waiting for responses."""


def http_protocol(serving: Serving) -> Callable[..., asyncio.Protocol]:
    """Create the factory of uvicorn's connections for `Config(http=..., ws="none")`.

    Args:
        serving: the server's settings.
    """
    return functools.partial(HttpProtocol, serving=serving, lingering=set())


class HttpProtocol(HttpToolsProtocol):
    """One HTTP connection.

    Malformed HTTP is answered with 400, a too large head with 431, a head that is not complete in time with 408, and a
    connection beyond the limit with 503. A client that does not read its response in time is disconnected.

    Args:
        serving: the server's settings.
        lingering: the refused connections of all protocols that are not yet closed.
        arguments: the arguments of uvicorn.
    """

    def __init__(self, *, serving: Serving, lingering: set["HttpProtocol"], **arguments: Any):
        super().__init__(**arguments)
        self._serving = serving
        self._lingering = lingering
        self._most_head = serving.max_header_kib * 1024
        self._in_head = False
        self._in_message = False
        self._head = 0  # bytes of the current head that the parser has reported
        self._unfinished = 0  # bytes of it in chunks that did not complete it
        self._is_refused = False
        self._answered: RequestResponseCycle | None = None  # the running request; `cycle` is the latest
        self._late: asyncio.TimerHandle | None = None
        self._stuck: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        if len(self.connections) > self._serving.max_connections:
            self._refuse(503, "The server has as many connections as it takes")
        else:
            self._keep_time()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._answered is not None and not self._answered.response_complete:
            self._answered.disconnected = True
            self._answered.message_event.set()
        self.pipeline.clear()
        super().connection_lost(exc)
        self._lingering.discard(self)
        for timer in (self._late, self._stuck):
            if timer is not None:
                timer.cancel()

    def data_received(self, data: bytes) -> None:
        if self._is_refused:
            return
        self._unset_keepalive_if_required()
        was_in_head = self._in_head
        if (was_in_head or not self._in_message) and b"pgrade" in data:
            data = _without_upgrade(data)
        try:
            self.parser.feed_data(data)
            if was_in_head and self._in_head:
                self._unfinished += len(data)
                self._check_head()
        except httptools.HttpParserUpgrade:  # CONNECT: what follows is not HTTP
            self.cycle.keep_alive = False
            self._is_refused = True
        except (httptools.HttpParserError, _TooLarge) as error:
            if isinstance(error, _TooLarge) or isinstance(error.__context__, _TooLarge):
                self._refuse(431, f"The head is larger than this server takes: {self._serving.max_header_kib} KiB")
            else:
                self._refuse(400, "Malformed HTTP")
        else:
            self._keep_time()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head = self._in_message = True
        self._head = self._unfinished = 0

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        self._head += len(url)
        self._check_head()

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
        self._head += len(name) + len(value)
        self._check_head()

    def on_headers_complete(self) -> None:
        self._in_head = False
        if len(self.pipeline) >= MAX_PIPELINED:
            raise _TooMany
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._in_message = False

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Callable) -> None:
        self._answered = cycle
        super()._start_asgi_task(cycle, app)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._keep_time()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stuck = self.loop.call_later(self._serving.slow_client_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._stuck is not None:
            self._stuck.cancel()

    def _check_head(self) -> None:
        if max(self._head, self._unfinished) > self._most_head or len(self.headers) > MAX_HEADERS:
            raise _TooLarge

    def _keep_time(self) -> None:
        """Run a timer while the server waits for the client: uvicorn's between requests, this class's within one."""
        is_clients_turn = self._in_head or self.cycle is None or self.cycle.response_complete
        if not is_clients_turn and self._late is not None:
            self._late.cancel()
            self._late = None
        elif is_clients_turn and self._late is None and self.timeout_keep_alive_task is None:
            self._late = self.loop.call_later(self._serving.slow_client_seconds, self._on_late)

    def _on_late(self) -> None:
        if self._in_head:
            self._refuse(408, "The head of the request came too slowly")
        elif not self._is_refused:
            self.transport.close()

    def _refuse(self, status: int, message: str) -> None:
        """Stop reading from this connection, and close it once all requests are answered."""
        self._is_refused = True
        if self.cycle is not None and not self.cycle.response_complete:
            if not self.cycle.more_body:  # the invalid request is the next
                self.cycle.keep_alive = False
                return
            if self.pipeline:  # earlier requests are still answered
                self.pipeline.popleft()
                return
            self.cycle.disconnected = True  # the rest of its body cannot be read
            self.cycle.message_event.set()
        body = error_body(message)
        self.transport.write(
            b"%scontent-type: %s\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%s"
            % (STATUS_LINE[status], JSON, len(body), body)
        )
        self.connections.discard(self)
        if self.transport.can_write_eof() and len(self._lingering) < MAX_LINGERING:
            self._lingering.add(self)
            self.transport.write_eof()
            self.loop.call_later(LINGER_SECONDS, self.transport.close)
        else:
            self.transport.close()


def _without_upgrade(data: bytes) -> bytes:
    """Hide a protocol upgrade in a head, because the parser would accept it and not read the body."""
    head, blank, body = data.partition(b"\r\n\r\n")
    return _UPGRADE.sub(b"\r\nx-upgrade:", head) + blank + body


# The undocumented parts of uvicorn that this file (the first two classes) and server.py use: methods that are called or
# overridden, and attributes that are read or set. A release without one of them is refused at startup; otherwise the
# server would fail at the first slow client.
INTERNALS: dict[type, frozenset[str]] = {
    HttpToolsProtocol: frozenset(
        (
            *("connection_made", "connection_lost", "data_received", "pause_writing", "resume_writing"),
            *("on_message_begin", "on_url", "on_header", "on_headers_complete", "on_message_complete"),
            *("on_response_complete", "_start_asgi_task", "_unset_keepalive_if_required", "timeout_keep_alive_task"),
            *("connections", "cycle", "headers", "loop", "parser", "pipeline", "transport"),
        )
    ),
    RequestResponseCycle: frozenset(("disconnected", "keep_alive", "message_event", "more_body", "response_complete")),
    uvicorn.Server: frozenset(("capture_signals", "serve", "server_state", "servers", "should_exit", "started")),
    ServerState: frozenset(("connections", "tasks")),
}


def check_uvicorn() -> None:
    """Refuse a release of uvicorn that lacks one of the internals.

    Raises:
        ServingError: names the missing attributes.
    """
    missing = [
        f"{kind.__name__}.{name}" for kind, names in INTERNALS.items() for name in sorted(names - attributes(kind))
    ]
    if missing:
        raise ServingError(
            f"this release of uvicorn lacks {', '.join(missing)}",
            expected="the release in setup.cfg",
            received=f"uvicorn {uvicorn.__version__}",
            remedy="Install this release, or adapt tfattn/serving/protocols/rest/ to the new one.",
        )


def attributes(kind: type) -> set[str]:
    """Return the attributes of a class and of its instances."""
    methods = [value for value in vars(kind).values() if inspect.isfunction(value)]
    return set(dir(kind)).union(*(method.__code__.co_names for method in methods))
