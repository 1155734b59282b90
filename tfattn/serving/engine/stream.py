"""The server's end of texts that a process writes."""

import asyncio
from collections import deque

from grpc import StatusCode

from tfattn.serving.api.failure import CODES, Failure
from tfattn.serving.engine.line import OK
from tfattn.serving.generation.output import OutputChunk

MOST_UNREAD = 10_000  # pieces that wait for somebody who reads more slowly than they are written


class Stream:
    """What a process tells of the texts of one request; an asynchronous iterator of pieces.

    Attributes:
        is_over: whether the process tells nothing more.
    """

    def __init__(self) -> None:
        self.is_over = False
        self._unread: deque[OutputChunk] = deque()
        self._ending: Exception | None = None
        self._has_ended = False
        self._came = asyncio.Event()

    def put(self, code: int, body: bytes) -> None:
        """Take a frame of the line."""
        self.is_over = code != OK or not body
        if code != OK:
            self.end(Failure(CODES[code], body.decode("utf-8", "replace")))
        elif not body:
            self.end()
        elif len(self._unread) >= MOST_UNREAD:
            self.end(Failure(StatusCode.RESOURCE_EXHAUSTED, "The text is read more slowly than it is written"))
        else:
            self._unread.append(OutputChunk.from_bytes(body))
            self._came.set()

    def end(self, failure: Exception | None = None) -> None:
        """Let nothing more come behind what is unread; the first reason counts."""
        if not self._has_ended:
            self._has_ended, self._ending = True, failure
            self._came.set()

    def __aiter__(self) -> "Stream":
        return self

    async def __anext__(self) -> OutputChunk:
        while not self._unread:
            if self._ending is not None:
                raise self._ending
            if self._has_ended:
                raise StopAsyncIteration
            self._came.clear()
            await self._came.wait()
        return self._unread.popleft()
