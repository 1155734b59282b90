"""Requests for generated text in the process of a version."""

import contextlib
import json
from concurrent.futures import ThreadPoolExecutor

from grpc import StatusCode

from tfattn.serving.api.failure import Failure
from tfattn.serving.engine.channel import OK, Channel
from tfattn.serving.generation.description import LanguageModel
from tfattn.serving.generation.output import OutputChunk
from tfattn.serving.generation.request import Occupancy, Request, TextLimits, read
from tfattn.serving.generation.scheduler import RequestHandle, Scheduler


class TextRequests:
    """A handler of requests for generated text that runs inside a `with` block.

    Args:
        model: a language model.
        channel: the channel to the server.
        limits: the limits of generated text.

    Raises:
        ServingError: the model is not a language model.
    """

    def __init__(self, model: LanguageModel, channel: Channel, limits: TextLimits):
        self._line = channel
        self._scheduler = Scheduler(model, limits, observe=self._report_occupancy)
        # Tokenization does not wait for other computations, nor for the compilation of guides, which may take long.
        self._prompts, self._guides = ThreadPoolExecutor(1), ThreadPoolExecutor(1)
        self._handles: dict[int, RequestHandle] = {}

    def __enter__(self) -> "TextRequests":
        self._scheduler.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._prompts.shutdown()
        self._guides.shutdown(cancel_futures=True)
        self._scheduler.__exit__()

    def warm_up(self) -> None:
        """Generate a short text so that no client waits for first computations."""
        self._scheduler.warm_up()

    def start(self, number: int, body: bytes) -> None:
        """Start a request."""
        handle = self._handles[number] = RequestHandle(lambda result: self._report(number, result))
        self._prompts.submit(self._read, body, handle)

    def cancel(self, number: int) -> None:
        """Cancel a request; ignore a request that has ended."""
        if (handle := self._handles.get(number)) is not None:
            handle.cancel()

    def _read(self, body: bytes, handle: RequestHandle) -> None:
        if handle.is_cancelled:
            handle.end()
            return
        try:
            request = read(Request, body)
        except Failure as failure:
            handle.fail(failure)
            return
        if request.guided:
            self._guides.submit(self._submit, request, handle)
        else:
            self._submit(request, handle)

    def _submit(self, request: Request, handle: RequestHandle) -> None:
        if handle.is_cancelled:
            return
        try:
            self._scheduler.submit(request, handle)
        except Failure as failure:
            handle.fail(failure)
        except Exception as error:  # any exception must reach the client
            handle.fail(Failure(StatusCode.INTERNAL, repr(error)))

    def _report_occupancy(self, occupancy: Occupancy) -> None:
        self._send(0, OK, json.dumps(occupancy).encode())

    def _report(self, number: int, result: OutputChunk | Failure | None) -> None:
        if isinstance(result, OutputChunk):
            self._send(number, OK, result.to_bytes())
            return
        self._handles.pop(number, None)
        if result is None:
            self._send(number, OK, b"")
        else:
            self._send(number, result.code.value[0], result.message.encode("utf-8", "replace"))

    def _send(self, number: int, code: int, body: bytes) -> None:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the server is gone
            self._line.send(number, code, body)
