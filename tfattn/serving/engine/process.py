"""The server's handle on the process of a version."""

import asyncio
import contextlib
import itertools
import json
import multiprocessing
import socket
import time
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from pathlib import Path

from grpc import StatusCode

from tfattn.serving.api.failure import CODES, Failure
from tfattn.serving.api.signature import Signature
from tfattn.serving.engine import death, forking, messages, worker
from tfattn.serving.engine.line import CANCEL, HEAD, OK, RUN, WRITE, frame
from tfattn.serving.engine.messages import Arrays
from tfattn.serving.engine.stream import Stream
from tfattn.serving.generation.output import OutputChunk
from tfattn.serving.generation.request import Occupancy, Request, TextLimits

LAST_WORDS = 1 << 15  # bytes of a process's standard error that are kept, to find in them why it died
ENDING_SECONDS = 10  # for what a process still computes

Observe = Callable[[Occupancy], None]


class Died(Exception):
    """Raised when the process ended before it answered."""


class Process:
    """A running process with a loaded model.

    Attributes:
        signatures: the model's functions by name.
        warm_up_requests, warm_up_seconds: how many there were, and how long they took.
        ended: done once the process has ended or closed its line; gives the reason.
    """

    def __init__(
        self,
        process: multiprocessing.Process,
        line: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        errors: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        cancel_seconds: float,
        observe: Observe,
    ):
        self.signatures: dict[str, Signature] = {}
        self.warm_up_requests, self.warm_up_seconds = 0, 0.0
        self._process = process
        self._reader, self._writer = line
        self._pending: dict[int, asyncio.Future] = {}
        self._streams: dict[int, Stream] = {}
        self._cancelled: dict[int, asyncio.TimerHandle] = {}
        self._cancel_seconds = cancel_seconds
        self._kill_reason = ""
        self._observe = observe
        self._numbers = itertools.count(1)
        self._kills = death.out_of_memory_kills()
        self._exit = asyncio.create_task(self._listen_to_errors(*errors))
        self.ended: asyncio.Task[str] | None = None

    @classmethod
    async def start(
        cls,
        folder: Path,
        *,
        threads: int,
        allow_operations: Collection[str],
        limits: TextLimits,
        gently: bool,
        cancel_seconds: float,
        observe: Observe,
    ) -> "Process":
        """Start a process and wait until its model is loaded and warm.

        Args:
            folder: the version's folder.
            threads: how many requests it computes at a time.
            allow_operations: the operations that the model may have although they do more than compute.
            limits: of the texts that are written step by step.
            gently: whether to load when nothing else wants to run.
            cancel_seconds: how long it may take to confirm that a request for texts is cancelled; a process that takes
                longer hangs, and is killed.
            observe: hears how many texts are written and wait, whenever that changes.

        Raises:
            Failure: the model cannot be loaded, or a warm-up request fails.
        """
        process, *lines = await _forked(folder, threads, tuple(allow_operations), limits, gently)
        ends = [await asyncio.open_connection(sock=line) for line in lines]
        started = cls(process, *ends, cancel_seconds, observe)
        try:
            started.signatures = messages.read_signatures(await started._first_frame())
            loaded = time.monotonic()
            started.warm_up_requests = int(await started._first_frame())
            started.warm_up_seconds = time.monotonic() - loaded
        except BaseException:
            process.kill()
            await started.end()
            raise
        started.ended = asyncio.create_task(started._read_responses())
        return started

    async def run(self, signature: str, inputs: Arrays, outputs: Sequence[str], *, seconds: float) -> Arrays:
        """Send inputs to the process and wait for the outputs.

        Args:
            signature: what to compute.
            inputs: its inputs, which fit it.
            outputs: the names of the outputs that are wanted.
            seconds: how long they may take; a process that takes longer hangs, and is killed.

        Raises:
            Failure: as TensorFlow says.
            Died: the process ended, or was killed, before it answered.
        """
        number = next(self._numbers)
        self._pending[number] = response = asyncio.get_running_loop().create_future()
        try:
            if self._writer.is_closing():
                raise Died
            self._writer.write(frame(number, RUN, messages.request(signature, inputs, outputs)))
            async with asyncio.timeout(seconds):
                code, body = await response
        except TimeoutError:
            self._kill(f"it had not answered for {seconds:g} s")
            raise Died from None
        finally:
            del self._pending[number]
        if code != OK:
            raise Failure(CODES[code], body.decode("utf-8", "replace"))
        return messages.read_response(body)

    async def write(self, request: Request) -> AsyncIterator[OutputChunk]:
        """Let the process write texts, and yield their pieces; to close the iterator cancels the request.

        Raises:
            Failure: as the scheduler says.
            Died: the process ended before it had written them.
        """
        number = next(self._numbers)
        self._streams[number] = stream = Stream()
        try:
            if self._writer.is_closing():
                raise Died
            self._writer.write(frame(number, WRITE, request.model_dump_json().encode("utf-8", "replace")))
            async for piece in stream:
                yield piece
        finally:
            del self._streams[number]
            if not stream.is_over and not self._writer.is_closing():
                self._writer.write(frame(number, CANCEL, b""))
                self._cancelled[number] = asyncio.get_running_loop().call_later(
                    self._cancel_seconds, self._kill, f"it had not cancelled a request for {self._cancel_seconds:g} s"
                )

    async def end(self) -> None:
        """Close the line, upon which the process ends, and wait for that."""
        self._writer.close()
        try:
            await asyncio.wait_for(asyncio.shield(self._exit), ENDING_SECONDS)
        except TimeoutError:  # it is still computing something that nobody waits for
            self._process.kill()
            await self._exit
        if self.ended is not None:
            await self.ended

    async def _first_frame(self) -> bytes:
        try:
            _, code, body = await self._frame()
        except (asyncio.IncompleteReadError, ConnectionError):
            reason = await asyncio.shield(self._exit)
            raise Failure(StatusCode.INTERNAL, f"the process ended while it loaded: {reason}") from None
        if code != OK:
            raise Failure(CODES[code], body.decode("utf-8", "replace"))
        return body

    async def _read_responses(self) -> str:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                self._take(*await self._frame())
        self._writer.close()
        for timer in self._cancelled.values():
            timer.cancel()
        for response in self._pending.values():
            if not response.done():
                response.set_exception(Died())
        for stream in self._streams.values():
            stream.end(Died())
        self._observe(Occupancy(0, 0))
        return await asyncio.shield(self._exit)

    def _take(self, number: int, code: int, body: bytes) -> None:
        if number == 0:
            self._observe(Occupancy(*json.loads(body)))
        elif number in self._streams:
            self._streams[number].put(code, body)
        elif number in self._cancelled:
            if code != OK or not body:
                self._cancelled.pop(number).cancel()
        elif (response := self._pending.get(number)) is not None and not response.done():  # somebody still waits for it
            response.set_result((code, body))

    def _kill(self, reason: str) -> None:
        """Kill a process that hangs; a stopped one, too, cannot ignore it."""
        self._kill_reason = reason
        self._process.kill()

    async def _frame(self) -> tuple[int, int, bytes]:
        number, code, length = HEAD.unpack(await self._reader.readexactly(HEAD.size))
        return number, code, await self._reader.readexactly(length)

    async def _listen_to_errors(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str:
        """Read what the process prints until it has ended, and return the reason why it has."""
        said = b""
        with contextlib.suppress(ConnectionError):
            while more := await reader.read(LAST_WORDS):
                said = (said + more)[-LAST_WORDS:]
        await asyncio.to_thread(self._process.join)
        writer.close()
        return death.reason(
            self._process.exitcode,
            said.decode("utf-8", "replace"),
            killed_because=self._kill_reason,
            out_of_memory=death.out_of_memory_kills() > self._kills,
        )


async def _forked(*arguments: object) -> tuple[multiprocessing.Process, socket.socket, socket.socket]:
    """Fork a process that runs `worker.main`; return it with the lines for requests and for its standard error."""
    with contextlib.ExitStack() as ours, contextlib.ExitStack() as theirs:
        try:
            forking.start()
            pairs = [socket.socketpair() for _ in range(2)]
            for mine, yours in pairs:
                ours.enter_context(mine)
                theirs.enter_context(yours)
            lines = tuple(yours for _, yours in pairs)
            process = forking.FORKS.Process(target=worker.main, args=(*lines, *arguments), daemon=True)
            await asyncio.to_thread(process.start)
        except (OSError, EOFError) as error:
            raise Failure(StatusCode.RESOURCE_EXHAUSTED, f"cannot start a process: {error}") from None
        ours.pop_all()
    return process, *(mine for mine, _ in pairs)
