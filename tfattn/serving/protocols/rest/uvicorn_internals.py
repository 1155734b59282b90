"""The undocumented parts of uvicorn that the REST server uses, by name.

A release without one of them is refused at startup; otherwise it would fail at the first slow client.
"""

import inspect

import uvicorn
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from tfattn.errors import ServingError

__all__ = ["INTERNALS", "STATUS_LINE", "HttpToolsProtocol", "RequestResponseCycle", "check"]

# Methods that are called or overridden, and attributes that are read or set. http.py uses the first two classes,
# server.py the others.
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


def check() -> None:
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
