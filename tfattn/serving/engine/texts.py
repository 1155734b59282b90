"""The texts that a process writes for its server."""

import contextlib
import json
from concurrent.futures import ThreadPoolExecutor

from grpc import StatusCode

from tfattn.serving.api.failure import Failure
from tfattn.serving.engine.line import OK, Line
from tfattn.serving.engine.saved_model import SavedModel
from tfattn.serving.generation.limits import Occupancy, TextLimits
from tfattn.serving.generation.piece import Piece
from tfattn.serving.generation.request import Request, read
from tfattn.serving.generation.scheduler import Scheduler
from tfattn.serving.generation.ticket import Ticket


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
        self._tickets: dict[int, Ticket] = {}

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
        ticket = self._tickets[number] = Ticket(lambda told: self._tell(number, told))
        self._prompts.submit(self._read, body, ticket)

    def cancel(self, number: int) -> None:
        """Let nothing more be written for a request."""
        if (ticket := self._tickets.get(number)) is not None:
            ticket.cancel()

    def _read(self, body: bytes, ticket: Ticket) -> None:
        if ticket.is_cancelled:
            ticket.end()
            return
        try:
            request = read(Request, body)
        except Failure as failure:
            ticket.fail(failure)
            return
        if request.guided:
            self._guides.submit(self._submit, request, ticket)
        else:
            self._submit(request, ticket)

    def _submit(self, request: Request, ticket: Ticket) -> None:
        if ticket.is_cancelled:
            return
        try:
            self._scheduler.submit(request, ticket)
        except Failure as failure:
            ticket.fail(failure)
        except Exception as error:  # whatever it is, whoever asked must hear of it
            ticket.fail(Failure(StatusCode.INTERNAL, repr(error)))

    def _tell_occupancy(self, occupancy: Occupancy) -> None:
        self._send(0, OK, json.dumps(occupancy).encode())

    def _tell(self, number: int, told: Piece | Failure | None) -> None:
        if isinstance(told, Piece):
            self._send(number, OK, told.message())
            return
        self._tickets.pop(number, None)
        if told is None:
            self._send(number, OK, b"")
        else:
            self._send(number, told.code.value[0], told.message.encode("utf-8", "replace"))

    def _send(self, number: int, code: int, body: bytes) -> None:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the server is gone
            self._line.send(number, code, body)
