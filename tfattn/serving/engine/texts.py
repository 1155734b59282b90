"""The texts that a process writes for its server."""

import contextlib
import json
from concurrent.futures import Executor

from grpc import StatusCode

from tfattn.serving.api.failure import Failure
from tfattn.serving.engine.line import OK, Line
from tfattn.serving.generation.limits import Occupancy
from tfattn.serving.generation.piece import Piece
from tfattn.serving.generation.request import Request, read
from tfattn.serving.generation.scheduler import Scheduler, Ticket


class Texts:
    """Requests for texts of a line, and what is told of them there.

    Args:
        line: the line to the server.
        pool: where prompts become tokens.
    """

    def __init__(self, line: Line, pool: Executor):
        self._line, self._pool = line, pool
        self._tickets: dict[int, Ticket] = {}

    def tell_occupancy(self, occupancy: Occupancy) -> None:
        """Tell the server how many texts are written and wait."""
        self._send(0, OK, json.dumps(occupancy).encode())

    def begin(self, scheduler: Scheduler, number: int, body: bytes) -> None:
        """Let the texts of a request be written."""
        ticket = self._tickets[number] = Ticket(lambda told: self._tell(number, told))
        self._pool.submit(self._submit, scheduler, number, body, ticket)

    def cancel(self, number: int) -> None:
        """Let nothing more be written for a request."""
        if (ticket := self._tickets.pop(number, None)) is not None:
            ticket.cancel()

    def _submit(self, scheduler: Scheduler, number: int, body: bytes, ticket: Ticket) -> None:
        try:
            scheduler.submit(read(Request, body), ticket)
        except Failure as failure:
            ticket.fail(failure)
        except Exception as error:  # whatever it is, whoever asked must hear of it
            ticket.fail(Failure(StatusCode.INTERNAL, repr(error)))

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
