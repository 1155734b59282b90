"""The texts that a process writes for its server."""

import contextlib
import json
from concurrent.futures import ThreadPoolExecutor

from grpc import StatusCode

from tfattn.serving.api.failure import Failure
from tfattn.serving.engine.line import OK, Line
from tfattn.serving.engine.saved_model import SavedModel
from tfattn.serving.generation.output import OutputChunk
from tfattn.serving.generation.request import Occupancy, Request, TextLimits, read
from tfattn.serving.generation.scheduler import RequestHandle, Scheduler


class Texts:
    """Writes the texts that requests of a line ask for, while a `with` block runs.

    Args:
        model: what writes.
        line: the line to the server.
        limits: of the texts.

    Raises:
        ServingError: the model does not write texts step by step.
    """

    def __init__(self, model: SavedModel, line: Line, limits: TextLimits):
        self._line = line
        self._scheduler = Scheduler(model, limits, observe=self._tell_occupancy)
        # Prompts become tokens aside from what else is computed, which may take long. So may the compilation of guides.
        self._prompts, self._guides = ThreadPoolExecutor(1), ThreadPoolExecutor(1)
        self._handles: dict[int, RequestHandle] = {}

    def __enter__(self) -> "Texts":
        self._scheduler.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._prompts.shutdown()
        self._guides.shutdown(cancel_futures=True)
        self._scheduler.__exit__()

    def warm_up(self) -> None:
        """Write a little, so that no client waits for first computations."""
        self._scheduler.warm_up()

    def begin(self, number: int, body: bytes) -> None:
        """Let the texts of a request be written."""
        handle = self._handles[number] = RequestHandle(lambda told: self._tell(number, told))
        self._prompts.submit(self._read, body, handle)

    def cancel(self, number: int) -> None:
        """Let nothing more be written for a request."""
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
        except Exception as error:  # whatever it is, whoever asked must hear of it
            handle.fail(Failure(StatusCode.INTERNAL, repr(error)))

    def _tell_occupancy(self, occupancy: Occupancy) -> None:
        self._send(0, OK, json.dumps(occupancy).encode())

    def _tell(self, number: int, told: OutputChunk | Failure | None) -> None:
        if isinstance(told, OutputChunk):
            self._send(number, OK, told.to_bytes())
            return
        self._handles.pop(number, None)
        if told is None:
            self._send(number, OK, b"")
        else:
            self._send(number, told.code.value[0], told.message.encode("utf-8", "replace"))

    def _send(self, number: int, code: int, body: bytes) -> None:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the server is gone
            self._line.send(number, code, body)
