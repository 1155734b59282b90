"""The body of a request, read whole and inflated, within limits; and what comes behind it: that the client goes."""

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
    """Raised when the client has gone."""


async def read_body(receive: Receive, headers: Mapping[bytes, bytes], serving: Serving) -> bytes:
    """Read a body.

    Args:
        receive: as ASGI gives it.
        headers: the request's, with names in lower case.
        serving: the settings.

    Returns:
        the body; empty where it should be gzip and is not, as in TF Serving.

    Raises:
        HttpFailure: 413, it is too large, as it is or inflated; 400, it is compressed more than anything but an attack;
            408, no further piece came within `slow_client_seconds`.
        Disconnected: the client has gone.
    """
    if int(headers.get(b"content-length", b"0")) > serving.max_body_mib * 2**20:
        raise _too_large(serving)
    try:
        async with asyncio.timeout(serving.slow_client_seconds) as patience:
            body = await _read(receive, serving, patience)
    except TimeoutError:
        raise HttpFailure(408, StatusCode.DEADLINE_EXCEEDED, "The body came too slowly") from None
    if b"gzip" in headers.get(b"content-encoding", b"").lower():
        return await asyncio.to_thread(_inflated, body, serving)
    return body


@contextlib.asynccontextmanager
async def unless_disconnected(receive: Receive) -> AsyncIterator[None]:
    """Give up what the block does as soon as the client goes.

    Args:
        receive: as ASGI gives it, once the body is read: what comes then is that the client goes.

    Raises:
        Disconnected: the client has gone.
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


async def _read(receive: Receive, serving: Serving, patience: asyncio.Timeout) -> bytes:
    most = serving.max_body_mib * 2**20
    pieces, size, goes_on = [], 0, True
    while goes_on:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Disconnected
        goes_on = message.get("more_body", False)
        piece = message.get("body", b"")
        pieces.append(piece)
        size += len(piece)
        if size > most:
            raise _too_large(serving)
        if piece and goes_on:
            patience.reschedule(asyncio.get_running_loop().time() + serving.slow_client_seconds)
    return b"".join(pieces)


def _inflated(body: bytes, serving: Serving) -> bytes:
    most = min(serving.max_body_mib * 2**20, serving.max_gzip_ratio * len(body))
    inflate = zlib.decompressobj(_GZIP)
    try:
        inflated = inflate.decompress(body, most + 1)
    except zlib.error:
        return b""
    if len(inflated) > serving.max_body_mib * 2**20:
        raise _too_large(serving)
    if len(inflated) > most:
        message = f"A body inflates to more than {serving.max_gzip_ratio} times its size"
        raise HttpFailure(400, StatusCode.INVALID_ARGUMENT, message)
    return inflated if inflate.eof and not inflate.unused_data else b""


def _too_large(serving: Serving) -> HttpFailure:
    message = f"The body is larger than this server takes: {serving.max_body_mib} MiB"
    return HttpFailure(413, StatusCode.RESOURCE_EXHAUSTED, message)
