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

from tfattn.litert import Engine
from tfattn.serving.api.failure import CODES, Failure
from tfattn.serving.api.signature import Signature
from tfattn.serving.engine import exit_reason, forking, worker
from tfattn.serving.engine.channel import (
    CANCEL,
    HEAD,
    OK,
    RUN,
    WRITE,
    Arrays,
    Stream,
    decode_response,
    decode_signatures,
    encode_request,
    frame,
)
from tfattn.serving.generation.output import OutputChunk
from tfattn.serving.generation.request import Occupancy, Request, TextLimits

MAX_STDERR_BYTES = 1 << 15  # the kept end of a process's standard error, which says why the process died
SHUTDOWN_SECONDS = 10  # for requests that the process still computes

Observe = Callable[[Occupancy], None]
Report = Callable[[int, int], None]


class ProcessDied(Exception):
    """Raised when the process ended before it answered a request."""


class Process:
    """A running process with a loaded model.

    Attributes:
        signatures: the model's signatures by name.
        warm_up_requests, warm_up_seconds: the number of warm-up requests and their total time.
        ended: a task that ends when the process has ended or closed its channel; its result is the reason.
    """

    def __init__(
        self,
        process: multiprocessing.Process,
        channel: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        errors: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        cancel_seconds: float,
        observe: Observe,
    ):
        self.signatures: dict[str, Signature] = {}
        self.warm_up_requests, self.warm_up_seconds = 0, 0.0
        self._process = process
        self._reader, self._writer = channel
        self._pending: dict[int, asyncio.Future] = {}
        self._streams: dict[int, Stream] = {}
        self._cancelled: dict[int, asyncio.TimerHandle] = {}
        self._cancel_seconds = cancel_seconds
        self._kill_reason = ""
        self._observe = observe
        self._numbers = itertools.count(1)
        self._kills = exit_reason.out_of_memory_kills()
        self._exit = asyncio.create_task(self._read_stderr(*errors))
        self.ended: asyncio.Task[str] | None = None

    @classmethod
    async def start(
        cls,
        folder: Path,
        *,
        engine: Engine,
        threads: int,
        allow_operations: Collection[str],
        limits: TextLimits,
        low_priority: bool,
        cancel_seconds: float,
        observe: Observe,
        report: Report,
    ) -> "Process":
        """Start a process and wait until its model is loaded and warm.

        Args:
            folder: the version's folder.
            engine: see `open_engine`.
            threads: the number of requests that the process computes at a time.
            allow_operations: the operations to allow although they have side effects.
            limits: the limits of generated text.
            low_priority: whether to load only while the machine is otherwise idle.
            cancel_seconds: the time limit for confirming the cancellation of a request for text. A process that takes
                longer is killed.
            observe: called with the numbers of running and waiting texts whenever they change.
            report: called with the number of answered warm-up requests and of all requests, once the model is loaded.

        Raises:
            Failure: the model cannot be loaded, or a warm-up request fails.
        """
        process, *sockets = await _fork(folder, engine, threads, tuple(allow_operations), limits, low_priority)
        connections = [await asyncio.open_connection(sock=end) for end in sockets]
        started = cls(process, *connections, cancel_seconds, observe)
        try:
            started.signatures = decode_signatures(await started._read_first_frame())
            loaded = time.monotonic()
            answered, total = -1, 0
            while answered < total:
                answered, total = json.loads(await started._read_first_frame())
                report(answered, total)
            started.warm_up_requests = total
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
            signature: the name of the signature.
            inputs: its inputs, already validated.
            outputs: the names of the requested outputs.
            seconds: the time limit. A process that takes longer is killed.

        Raises:
            Failure: the code and message of a TensorFlow error.
            ProcessDied: the process ended, or was killed, before it answered.
        """
        number = next(self._numbers)
        self._pending[number] = response = asyncio.get_running_loop().create_future()
        try:
            if self._writer.is_closing():
                raise ProcessDied
            self._writer.write(frame(number, RUN, encode_request(signature, inputs, outputs)))
            async with asyncio.timeout(seconds):
                code, body = await response
        except TimeoutError:
            self._kill(f"it had not answered for {seconds:g} s")
            raise ProcessDied from None
        finally:
            del self._pending[number]
        if code != OK:
            raise Failure(CODES[code], body.decode("utf-8", "replace"))
        return decode_response(body)

    async def write(self, request: Request) -> AsyncIterator[OutputChunk]:
        """Generate texts and yield their pieces. Closing the iterator cancels the request.

        Raises:
            Failure: the scheduler refused the request or failed.
            ProcessDied: the process ended before the texts were complete.
        """
        number = next(self._numbers)
        self._streams[number] = stream = Stream()
        try:
            if self._writer.is_closing():
                raise ProcessDied
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
        """Close the channel, which ends the process, and wait for its end."""
        self._writer.close()
        try:
            await asyncio.wait_for(asyncio.shield(self._exit), SHUTDOWN_SECONDS)
        except TimeoutError:  # it still computes an abandoned request
            self._process.kill()
            await self._exit
        if self.ended is not None:
            await self.ended

    async def _read_first_frame(self) -> bytes:
        try:
            _, code, body = await self._read_frame()
        except (asyncio.IncompleteReadError, ConnectionError):
            reason = await asyncio.shield(self._exit)
            raise Failure(StatusCode.INTERNAL, f"the process ended while it loaded: {reason}") from None
        if code != OK:
            raise Failure(CODES[code], body.decode("utf-8", "replace"))
        return body

    async def _read_responses(self) -> str:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                self._handle_frame(*await self._read_frame())
        self._writer.close()
        for timer in self._cancelled.values():
            timer.cancel()
        for response in self._pending.values():
            if not response.done():
                response.set_exception(ProcessDied())
        for stream in self._streams.values():
            stream.end(ProcessDied())
        self._observe(Occupancy(0, 0))
        return await asyncio.shield(self._exit)

    def _handle_frame(self, number: int, code: int, body: bytes) -> None:
        if number == 0:
            self._observe(Occupancy(*json.loads(body)))
        elif number in self._streams:
            self._streams[number].put(code, body)
        elif number in self._cancelled:
            if code != OK or not body:
                self._cancelled.pop(number).cancel()
        elif (response := self._pending.get(number)) is not None and not response.done():  # a caller still waits
            response.set_result((code, body))

    def _kill(self, reason: str) -> None:
        """Kill a hanging process; SIGKILL also ends a stopped process."""
        self._kill_reason = reason
        self._process.kill()

    async def _read_frame(self) -> tuple[int, int, bytes]:
        number, code, length = HEAD.unpack(await self._reader.readexactly(HEAD.size))
        return number, code, await self._reader.readexactly(length)

    async def _read_stderr(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str:
        """Read standard error until the process has ended, and return the reason for its end."""
        stderr = b""
        with contextlib.suppress(ConnectionError):
            while more := await reader.read(MAX_STDERR_BYTES):
                stderr = (stderr + more)[-MAX_STDERR_BYTES:]
        await asyncio.to_thread(self._process.join)
        writer.close()
        return exit_reason.exit_reason(
            self._process.exitcode,
            stderr.decode("utf-8", "replace"),
            killed_because=self._kill_reason,
            out_of_memory=exit_reason.out_of_memory_kills() > self._kills,
        )


async def _fork(*arguments: object) -> tuple[multiprocessing.Process, socket.socket, socket.socket]:
    """Fork a process that runs `worker.main`.

    Returns:
        The process, the socket for requests and the socket for its standard error.
    """
    with contextlib.ExitStack() as parent_ends, contextlib.ExitStack() as child_ends:
        try:
            forking.start()
            pairs = [socket.socketpair() for _ in range(2)]
            for parent_end, child_end in pairs:
                parent_ends.enter_context(parent_end)
                child_ends.enter_context(child_end)
            sockets = tuple(child_end for _, child_end in pairs)
            process = forking.CONTEXT.Process(target=worker.main, args=(*sockets, *arguments), daemon=True)
            await asyncio.to_thread(process.start)
        except (OSError, EOFError) as error:
            raise Failure(StatusCode.RESOURCE_EXHAUSTED, f"cannot start a process: {error}") from None
        parent_ends.pop_all()
    return process, *(parent_end for parent_end, _ in pairs)
