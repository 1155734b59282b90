"""The server's end of a stream of generated text."""

import asyncio
from collections import deque

from grpc import StatusCode

from tfattn.serving.api.failure import CODES, Failure
from tfattn.serving.engine.channel import OK
from tfattn.serving.generation.output import OutputChunk

MAX_UNREAD = 10_000  # pieces that wait for a client that reads more slowly than the model generates


class Stream:
    """An asynchronous iterator of the generated pieces of one request.

    Attributes:
        is_over: whether the process has sent its last frame for the request.
    """

    def __init__(self) -> None:
        self.is_over = False
        self._unread: deque[OutputChunk] = deque()
        self._ending: Exception | None = None
        self._has_ended = False
        self._changed = asyncio.Event()

    def put(self, code: int, body: bytes) -> None:
        """Add a frame of the channel."""
        self.is_over = code != OK or not body
        if code != OK:
            self.end(Failure(CODES[code], body.decode("utf-8", "replace")))
        elif not body:
            self.end()
        elif len(self._unread) >= MAX_UNREAD:
            self.end(Failure(StatusCode.RESOURCE_EXHAUSTED, "The text is read more slowly than it is written"))
        else:
            self._unread.append(OutputChunk.from_bytes(body))
            self._changed.set()

    def end(self, failure: Exception | None = None) -> None:
        """End the stream after its unread pieces; the first call decides how it ends."""
        if not self._has_ended:
            self._has_ended, self._ending = True, failure
            self._changed.set()

    def __aiter__(self) -> "Stream":
        return self

    async def __anext__(self) -> OutputChunk:
        while not self._unread:
            if self._ending is not None:
                raise self._ending
            if self._has_ended:
                raise StopAsyncIteration
            self._changed.clear()
            await self._changed.wait()
        return self._unread.popleft()
