"""Continuous batching: whoever wants a text joins the batch that is being written, and leaves it at any step."""

import contextlib
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from grpc import StatusCode

from tfattn.errors import ServingError
from tfattn.serving.api.failure import Failure, invalid
from tfattn.serving.generation.description import Description
from tfattn.serving.generation.desk import Desk
from tfattn.serving.generation.limits import USUAL, Occupancy, TextLimits
from tfattn.serving.generation.orders import Orders
from tfattn.serving.generation.piece import Piece, Token
from tfattn.serving.generation.prompts import Model
from tfattn.serving.generation.request import Request
from tfattn.serving.generation.row import Row
from tfattn.serving.generation.ticket import Ticket


class Exported(Model, Protocol):
    """The contract of a loaded model, such as `SavedModel`."""

    folder: Path


class Scheduler:
    """Writes texts with an exported model, in a thread of its own; any thread may ask.

    At every step a token is written of each text; between steps, texts join and leave. What a text is does not depend
    on the others, and an exception in one ends its own request alone.

    Args:
        model: the model; it must have been exported by the task language_modeling.
        limits: how many texts are written at a time and wait, and how much is kept of those that ended.
        observe: hears how many texts are written and wait, whenever that changes.

    Raises:
        ServingError: the model does not write texts step by step.

    Example:
        >>> with Scheduler(SavedModel(folder)) as scheduler:
        ...     for piece in scheduler.write(Request(prompts=("Once upon a time",), max_new_tokens=50)):
        ...         print(piece.text, end="", flush=True)
    """

    def __init__(
        self,
        model: Exported,
        limits: TextLimits = USUAL,
        *,
        observe: Callable[[Occupancy], None] = lambda occupancy: None,
    ):
        self.description = Description.read(model.folder)
        self._limits = limits
        self._orders = Orders(model, self.description, has_drafts=limits.has_drafts)
        self._desk = Desk(model, self.description, limits)
        self._observe, self._observed = observe, Occupancy(0, 0)
        self._waiting: deque[Row] = deque()
        self._tickets: dict[Row, Ticket] = {}
        self._changed = threading.Condition()
        self._is_ending = False
        self._thread = threading.Thread(target=self._run, name="scheduler", daemon=True)

    def __enter__(self) -> "Scheduler":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._is_ending = True
            self._changed.notify()
        self._thread.join()

    def warm_up(self) -> None:
        """Read and write a little in each way that there is: the first time takes TensorFlow seconds."""
        for likeliest in (None, 0):
            prompt = self.description.end_ids[:1] * 2
            (row,) = self._orders.rows(Request(prompts=(prompt,), max_new_tokens=1, likeliest=likeliest))
            self._desk.warm_up(row)

    def submit(self, request: Request, ticket: Ticket) -> None:
        """Let texts be written.

        Args:
            request: what is wanted.
            ticket: who hears of it, and may cancel it.

        Raises:
            Failure: INVALID_ARGUMENT, a prompt does not do, no text can be as is asked, or more are asked for than may
                ever wait; UNAVAILABLE, too many wait already.
        """
        rows = self._orders.rows(request)
        most = self._limits.most_rows + self._limits.most_waiting
        if len(rows) > most:
            raise invalid(f"The request asks for {len(rows)} texts; at most {most} are written or wait at a time")
        with self._changed:
            if self._is_ending or len(rows) > most - len(self._tickets):
                raise Failure(StatusCode.UNAVAILABLE, "Too many texts wait to be written already")
            ticket.begin(len(rows))
            self._tickets.update(dict.fromkeys(rows, ticket))
            self._waiting.extend(rows)
            self._changed.notify()

    def write(self, request: Request) -> Iterator[Piece]:
        """Yield pieces of texts as they come; to close the iterator cancels the request.

        Args:
            request: what is wanted.

        Raises:
            Failure: as `submit`, or what went wrong meanwhile.
        """
        told: queue.SimpleQueue[Piece | Failure | None] = queue.SimpleQueue()
        ticket = Ticket(told.put)
        self.submit(request, ticket)
        try:
            while (piece := told.get()) is not None:
                if isinstance(piece, Failure):
                    raise piece
                yield piece
        finally:
            ticket.cancel()

    # In the thread

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._tickets and not self._is_ending:
                    self._changed.wait()
                if self._is_ending:
                    break
            try:
                self._step()
            except Exception as error:  # of no text alone: every caller must hear of it, and others be answered
                self._fail(_failure(error))
        self._fail(Failure(StatusCode.UNAVAILABLE, "The model is being unloaded"))

    def _step(self) -> None:
        self._drop_cancelled()
        self._admit()
        written = [(row, self._added(row, drawn)) for row, drawn in self._desk.step()]
        for row, pieces in written:
            with self._ending_alone(row):
                if row.finish_reason:
                    self._desk.end(row)
                for piece in pieces:
                    self._told(row, piece)
        self._tell_occupancy()

    def _added(self, row: Row, drawn: Sequence[tuple[int, Token | None]] | Exception) -> list[Piece]:
        """Add tokens to a row until it ends, and return what it has more than before."""
        pieces = []
        with self._ending_alone(row):
            if isinstance(drawn, Exception):
                raise drawn
            for token_id, told in drawn:
                piece = row.add(token_id, self.description.token_bytes[token_id], told)
                pieces += [piece] if piece is not None else []
                if row.finish_reason:
                    break
        return pieces

    @contextlib.contextmanager
    def _ending_alone(self, row: Row) -> Iterator[None]:
        """Let an exception in the block end the request of a row, whose rows are then free from the next step on."""
        ticket = self._tickets[row]
        try:
            yield
        except Exception as error:
            ticket.fail(_failure(error))

    def _told(self, row: Row, piece: Piece) -> None:
        ticket = self._tickets[row]
        if piece.finish_reason:
            self._forget(row)
        ticket.tell(piece)

    def _drop_cancelled(self) -> None:
        cancelled = {row: ticket for row, ticket in list(self._tickets.items()) if ticket.is_cancelled}
        for row in cancelled:
            with self._ending_alone(row):
                self._desk.end(row)
            self._forget(row)
        for ticket in set(cancelled.values()):
            ticket.end()

    def _forget(self, row: Row) -> None:
        with self._changed:
            del self._tickets[row]
            with contextlib.suppress(ValueError):
                self._waiting.remove(row)

    def _admit(self) -> None:
        """Let those that wait begin, as far as there is room."""
        while self._waiting and self._desk.has_room:
            with self._changed:
                row = self._waiting.popleft()
            with self._ending_alone(row):
                self._desk.begin(row)

    def _fail(self, failure: Failure) -> None:
        """Tell everybody, and begin anew with nothing."""
        with self._changed:
            tickets = set(self._tickets.values())
            self._tickets.clear()
            self._waiting.clear()
        self._desk.clear()
        for ticket in tickets:
            ticket.fail(failure)
        self._tell_occupancy()

    def _tell_occupancy(self) -> None:
        occupancy = Occupancy(self._desk.num_rows, len(self._waiting))
        if occupancy != self._observed:
            self._observed = occupancy
            self._observe(occupancy)


def _failure(error: Exception) -> Failure:
    """Return what a caller hears of an exception: what guides a text raises a ServingError, which the caller caused."""
    if isinstance(error, Failure):
        return error
    is_caused = isinstance(error, ServingError)
    return invalid(str(error)) if is_caused else Failure(StatusCode.INTERNAL, f"cannot write: {error!r}")
