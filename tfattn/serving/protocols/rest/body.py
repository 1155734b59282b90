"""Reading of request bodies within limits, and detection of clients that disconnect."""

import asyncio
import contextlib
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

from grpc import StatusCode

from tfattn.serving.protocols.rest.response import HttpFailure
from tfattn.serving.section import Serving

Receive = Callable[[], Awaitable[dict[str, Any]]]

_GZIP = 16 + zlib.MAX_WBITS


class Disconnected(Exception):
    """Raised when the client has disconnected."""


async def read_body(receive: Receive, headers: Mapping[bytes, bytes], serving: Serving) -> bytes:
    """Read and decompress a body.

    Args:
        receive: the ASGI callable.
        headers: the request's headers, with names in lower case.
        serving: the server's settings.

    Returns:
        The body; empty if it claims to be gzip and is not, like in TF Serving.

    Raises:
        HttpFailure: 413, the body is too large, compressed or not; 400, its compression ratio exceeds the limit; 408,
            no further part arrived within `slow_client_seconds`.
        Disconnected: the client has disconnected.
    """
    if int(headers.get(b"content-length", b"0")) > serving.max_body_mib * 2**20:
        raise _too_large(serving)
    try:
        async with asyncio.timeout(serving.slow_client_seconds) as timeout:
            body = await _read(receive, serving, timeout)
    except TimeoutError:
        raise HttpFailure(408, StatusCode.DEADLINE_EXCEEDED, "The body came too slowly") from None
    if b"gzip" in headers.get(b"content-encoding", b"").lower():
        return await asyncio.to_thread(_decompress, body, serving)
    return body


@contextlib.asynccontextmanager
async def unless_disconnected(receive: Receive) -> AsyncIterator[None]:
    """Cancel the block as soon as the client disconnects.

    Args:
        receive: the ASGI callable, after the body has been read: its next message is the disconnection.

    Raises:
        Disconnected: the client has disconnected.
    """
    work, is_over = asyncio.current_task(), False

    def drop(gone: asyncio.Task) -> None:
        if not gone.cancelled() and not is_over:
            work.cancel()

    gone = asyncio.create_task(receive())
    gone.add_done_callback(drop)
    try:
        yield
    except asyncio.CancelledError:
        if gone.done() and not gone.cancelled():
            work.uncancel()
            raise Disconnected from None
        raise
    finally:
        is_over = True
        gone.cancel()


async def _read(receive: Receive, serving: Serving, timeout: asyncio.Timeout) -> bytes:
    limit = serving.max_body_mib * 2**20
    pieces, size, has_more = [], 0, True
    while has_more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Disconnected
        has_more = message.get("more_body", False)
        piece = message.get("body", b"")
        pieces.append(piece)
        size += len(piece)
        if size > limit:
            raise _too_large(serving)
        if piece and has_more:
            timeout.reschedule(asyncio.get_running_loop().time() + serving.slow_client_seconds)
    return b"".join(pieces)


def _decompress(body: bytes, serving: Serving) -> bytes:
    limit = min(serving.max_body_mib * 2**20, serving.max_gzip_ratio * len(body))
    inflate = zlib.decompressobj(_GZIP)
    try:
        inflated = inflate.decompress(body, limit + 1)
    except zlib.error:
        return b""
    if len(inflated) > serving.max_body_mib * 2**20:
        raise _too_large(serving)
    if len(inflated) > limit:
        message = f"A body inflates to more than {serving.max_gzip_ratio} times its size"
        raise HttpFailure(400, StatusCode.INVALID_ARGUMENT, message)
    return inflated if inflate.eof and not inflate.unused_data else b""


def _too_large(serving: Serving) -> HttpFailure:
    message = f"The body is larger than this server takes: {serving.max_body_mib} MiB"
    return HttpFailure(413, StatusCode.RESOURCE_EXHAUSTED, message)
