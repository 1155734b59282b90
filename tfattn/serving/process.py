"""The server's handle on the process of a version."""

import asyncio
import collections
import contextlib
import itertools
import os
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from grpc import StatusCode

from tfattn.serving import messages
from tfattn.serving.failure import Failure
from tfattn.serving.line import HEAD, OK, frame
from tfattn.serving.messages import Arrays
from tfattn.serving.signature import Signature

LAST_WORDS = 20  # lines of a process's standard error that are kept, to be logged should it die
_CODES = {code.value[0]: code for code in StatusCode}


class Died(Exception):
    """The process ended before it answered."""


class Process:
    """A running process with a loaded model.

    Attributes:
        signatures: the model's functions by name.
        warm_up_requests, warm_up_seconds: how many there were, and how long they took.
        ended: done once the process has ended or closed its line; gives its last words.
    """

    def __init__(self, process: subprocess.Popen, reader: asyncio.StreamReader, writer: asyncio.StreamWriter):
        self.signatures: dict[str, Signature] = {}
        self.warm_up_requests, self.warm_up_seconds = 0, 0.0
        self._process, self._reader, self._writer = process, reader, writer
        self._answers: dict[int, asyncio.Future] = {}
        self._numbers = itertools.count(1)
        self._last_words: collections.deque[bytes] = collections.deque(maxlen=LAST_WORDS)
        self._listening = asyncio.create_task(self._listen_to_errors())
        self.ended: asyncio.Task[str] | None = None

    @classmethod
    async def start(cls, folder: Path, *, threads: int) -> "Process":
        """Starts a process and waits until its model is loaded and warm.

        Args:
            folder: the version's folder.
            threads: how many requests it computes at a time.

        Raises:
            Failure: the model cannot be loaded, or a warm-up request fails.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                process = await _spawned(theirs.fileno(), folder, threads)
            except BaseException as error:
                ours.close()
                if isinstance(error, OSError):
                    what = f"cannot start a process: {error.strerror}"
                    raise Failure(StatusCode.RESOURCE_EXHAUSTED, what) from None
                raise
        started = cls(process, *await asyncio.open_connection(sock=ours))
        try:
            started.signatures = messages.read_signatures(await started._first_frame())
            loaded = time.monotonic()
            started.warm_up_requests = int(await started._first_frame())
            started.warm_up_seconds = time.monotonic() - loaded
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await started.end()
            raise
        started.ended = asyncio.create_task(started._read_answers())
        return started

    async def run(self, signature: str, inputs: Arrays, outputs: Sequence[str]) -> Arrays:
        """Has outputs computed.

        Raises:
            Failure: as TensorFlow says.
            Died: the process ended before it answered.
        """
        number = next(self._numbers)
        self._answers[number] = answer = asyncio.get_running_loop().create_future()
        try:
            if self._writer.is_closing():
                raise Died
            self._writer.write(frame(number, OK, messages.request(signature, inputs, outputs)))
            code, body = await answer
        finally:
            del self._answers[number]
        if code != OK:
            raise Failure(_CODES[code], body.decode("utf-8", "replace"))
        return messages.read_response(body)

    async def end(self) -> None:
        """Closes the line, upon which the process ends; waits for that."""
        self._writer.close()
        try:
            await self._wait(timeout=10)
        except subprocess.TimeoutExpired:  # it is still computing something that nobody waits for
            self._process.kill()
            await self._wait()
        await self._listening
        if self.ended is not None:
            await self.ended

    async def _first_frame(self) -> bytes:
        try:
            _, code, body = await self._frame()
        except (asyncio.IncompleteReadError, ConnectionError):
            await self._wait()
            await self._listening
            raise Failure(StatusCode.INTERNAL, f"the process ended while it loaded: {self._said()}") from None
        if code != OK:
            raise Failure(_CODES[code], body.decode("utf-8", "replace"))
        return body

    async def _read_answers(self) -> str:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                number, code, body = await self._frame()
                answer = self._answers.get(number)
                if answer is not None and not answer.done():  # somebody still waits for it
                    answer.set_result((code, body))
        self._writer.close()
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(Died())
        await self._wait()
        return self._said()

    async def _wait(self, timeout: float | None = None) -> None:
        await asyncio.to_thread(self._process.wait, timeout)

    async def _frame(self) -> tuple[int, int, bytes]:
        number, code, length = HEAD.unpack(await self._reader.readexactly(HEAD.size))
        return number, code, await self._reader.readexactly(length)

    async def _listen_to_errors(self) -> None:
        reader = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), self._process.stderr
        )
        with contextlib.suppress(ValueError):  # a line beyond all measure
            async for line in reader:
                self._last_words.append(line)

    def _said(self) -> str:
        words = b"".join(self._last_words).decode("utf-8", "replace").strip()
        return f"{words}\nexit status {self._process.returncode}".strip()


async def _spawned(handle: int, folder: Path, threads: int) -> subprocess.Popen:
    # Not by the event loop: that would fork all of the server's memory, and stand still meanwhile.
    return await asyncio.to_thread(
        subprocess.Popen,
        [sys.executable, "-m", "tfattn.serving.worker", str(handle), str(folder), str(threads)],
        pass_fds=[handle],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,  # Ctrl-C is for the server, which ends its processes in good order
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
    )
