"""Dynamic batching: rows of several requests are computed together.

Requests share a batch if they have the same signature, requested outputs and shapes, and texts of about the same
length, which limits padding. A batch that fails is split until the failing request is alone. Requests whose client has
gone are not computed.
"""

import asyncio
import itertools
import time
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from grpc import StatusCode

from tfattn.features import SEGMENT_PADDING, SEGMENTS
from tfattn.rows import joined_rows
from tfattn.serving.api.failure import Failure
from tfattn.serving.api.signature import Signature
from tfattn.serving.engine.batching_parameters import BatchingParameters
from tfattn.serving.engine.channel import Arrays
from tfattn.serving.engine.process import ProcessDied

MAX_PROCESS_DEATHS = 2  # a request whose process died during its computation is retried once, alone
# The minimum seconds that an incomplete batch waits for more rows while another batch is computed. A call of a small
# model costs more than its rows, and next to the time of a slow call the wait is negligible.
MIN_BATCH_WAIT = 0.002
MIN_LENGTH_BITS = 6  # texts of up to 2**6 bytes count as equally long
EMA_DECAY = 0.9  # of the moving average of a batch's time
WAIT_MARGIN = 1.3  # the factor by which a wait may exceed its estimate
# A longer queue makes every response late: the limit is in seconds, or in batches where a batch takes longer.
MAX_WAIT, MAX_WAIT_BATCHES = 0.5, 3.0

Compute = Callable[[str, Arrays, Sequence[str], float | None], Awaitable[Arrays]]


class Observer(Protocol):
    """The interface of an observer of batches."""

    def batch(self, *, rows: int, seconds: float, queued: list[float]) -> None:
        """Record a computed batch: its rows, its duration, and the waiting time of each of its requests."""

    def queue(self, *, rows: int) -> None:
        """Record the number of rows in the queue."""


@dataclass(eq=False)
class QueuedRequest:
    """A request in the queue."""

    signature: Signature
    inputs: Arrays
    outputs: tuple[str, ...]
    rows: int
    result: asyncio.Future
    since: float
    deadline: float | None
    deaths: int = 0
    group: Hashable = field(default_factory=object)  # equal for requests that can share a batch
    batchable: bool = False
    is_queued: bool = False

    @property
    def is_pending(self) -> bool:
        """Whether a client still waits for the outputs."""
        return not self.result.done()


class Batcher:
    """A dynamic batcher of requests on one event loop.

    Args:
        compute: computes outputs from the name of a signature, inputs, the names of outputs and the latest deadline of
            the batch (None without a deadline); raises Failure or ProcessDied.
        parameters: the parameters of batching; None computes each request alone.
        threads: the number of batches that are computed at a time.
        observer: records batches and the length of the queue.
    """

    def __init__(self, compute: Compute, *, parameters: BatchingParameters | None, threads: int, observer: Observer):
        self._compute = compute
        self._parameters = parameters
        self._max_queued = (parameters or BatchingParameters()).max_queued_rows
        self._free = threads
        self._threads = threads
        self._observer = observer
        self._groups: OrderedDict[Hashable, deque[QueuedRequest]] = OrderedDict()
        self._queued_rows = 0
        self._batch_seconds = 0.0
        self._next_dispatch = 0.0  # when `_dispatch` runs next for a batch that waits for more rows
        self._not_row_wise: set[str] = set()  # signatures whose outputs do not have a value for each row
        self._tasks: set[asyncio.Task] = set()
        self._loop = asyncio.get_running_loop()

    async def run(
        self, signature: Signature, inputs: Arrays, outputs: tuple[str, ...], deadline: float | None
    ) -> Arrays:
        """Compute a request. Each of its rows is computed as if it were alone.

        Only padding depends on other rows: an output of variable width is as wide as the longest row of its batch.

        Args:
            signature: the signature to compute.
            inputs: its inputs, already validated.
            outputs: the names of the requested outputs.
            deadline: the time in the event loop's clock after which the request fails; None for no deadline.

        Raises:
            Failure: UNAVAILABLE at once if the queue is too long; DEADLINE_EXCEEDED; a TensorFlow error.
        """
        request = self._make_request(signature, inputs, outputs, deadline)
        if request.rows > self._max_rows and request.batchable:
            return await self._run_in_parts(request)
        self._admit(request)
        self._enqueue(request)
        self._dispatch()
        try:
            async with asyncio.timeout_at(deadline):
                return await request.result
        except TimeoutError:
            raise Failure(StatusCode.DEADLINE_EXCEEDED, "Deadline exceeded while the request waited") from None
        finally:
            if request.is_queued:  # the client has gone
                self._groups[request.group].remove(request)
                self._remove([request])

    async def _run_in_parts(self, whole: QueuedRequest) -> Arrays:
        """Compute a request with more rows than a batch in several batches."""
        parts: list[Arrays] = []
        for start in range(0, whole.rows, self._max_rows * self._threads):
            ends = [start + self._max_rows * part for part in range(self._threads + 1)]
            slices = [slice(*pair) for pair in itertools.pairwise(ends) if pair[0] < whole.rows]
            parts += await asyncio.gather(
                *(
                    self.run(whole.signature, _sliced(whole.inputs, rows), whole.outputs, whole.deadline)
                    for rows in slices
                )
            )
        columns = {name: [part[name] for part in parts] for name in parts[0]}
        sizes = [min(self._max_rows, whole.rows - start) for start in range(0, whole.rows, self._max_rows)]
        if not all(_have_rows(arrays, sizes) for arrays in columns.values()):
            self._not_row_wise.add(whole.signature.name)
            return await self.run(whole.signature, whole.inputs, whole.outputs, whole.deadline)
        return {name: joined_rows(arrays, pad=_padding(name)) for name, arrays in columns.items()}

    def _make_request(self, signature: Signature, inputs: Arrays, outputs: tuple[str, ...], deadline) -> QueuedRequest:
        sizes = {len(array) if array.ndim else None for array in inputs.values()}
        row_wise = len(sizes) == 1 and None not in sizes and 0 not in sizes
        request = QueuedRequest(
            signature=signature,
            inputs=inputs,
            outputs=outputs,
            rows=sizes.pop() if row_wise else 1,
            result=self._loop.create_future(),
            since=time.monotonic(),
            deadline=deadline,
        )
        if row_wise and self._parameters and signature.has_rows and signature.name not in self._not_row_wise:
            shapes = tuple([(name, inputs[name].shape[1:]) for name in signature.inputs if name in inputs])
            request.group = (signature.name, outputs, shapes, _length_bits(inputs))
            request.batchable = True
        return request

    def _admit(self, request: QueuedRequest) -> None:
        if self._queued_rows and self._queued_rows + request.rows > self._max_queued:
            raise Failure(StatusCode.UNAVAILABLE, "The batch scheduling queue is full")
        if not self._queued_rows:
            return
        queued_batches = max(len(self._groups), (self._queued_rows + request.rows) // self._max_rows)
        batches = queued_batches + 1  # plus the running batch
        expected = WAIT_MARGIN * self._batch_seconds * batches / self._threads
        if expected > max(MAX_WAIT, MAX_WAIT_BATCHES * self._batch_seconds):
            raise Failure(StatusCode.UNAVAILABLE, "The batch scheduling queue is too long")
        if request.deadline is not None and request.since + expected > request.deadline:
            raise Failure(StatusCode.UNAVAILABLE, "The queue is too long for the request's deadline")

    def _enqueue(self, request: QueuedRequest) -> None:
        self._groups.setdefault(request.group, deque()).append(request)
        self._queued_rows += request.rows
        request.is_queued = True
        self._observer.queue(rows=self._queued_rows)

    def _remove(self, batch: list[QueuedRequest]) -> None:
        for request in batch:
            request.is_queued = False
            self._queued_rows -= request.rows
        if not self._groups[batch[0].group]:
            del self._groups[batch[0].group]
        self._observer.queue(rows=self._queued_rows)

    def _dispatch(self) -> None:
        """Start a batch for each free thread, the longest waiting first."""
        while self._free and (batch := self._next_batch()):
            self._free -= 1
            task = self._loop.create_task(self._run_batch(batch))
            self._tasks.add(task)
            task.add_done_callback(self._on_batch_done)

    def _on_batch_done(self, task: asyncio.Task) -> None:
        self._tasks.discard(task)
        self._free += 1
        self._dispatch()

    def _next_batch(self) -> list[QueuedRequest]:
        for group in sorted(self._groups.values(), key=lambda group: group[0].since):
            if self._is_due(group):
                batch = [group.popleft()]
                room = self._max_rows - batch[0].rows
                while group and group[0].rows <= room:
                    batch.append(group.popleft())
                    room -= batch[-1].rows
                self._remove(batch)
                return batch
        return []

    @property
    def _max_rows(self) -> int:
        return self._parameters.max_batch_size if self._parameters else 1

    def _is_due(self, group: deque[QueuedRequest]) -> bool:
        is_idle = self._free == self._threads  # an idle model gains nothing from waiting
        if is_idle or not self._parameters or not group[0].batchable:
            return True
        due = group[0].since + max(self._parameters.timeout, MIN_BATCH_WAIT)
        now = time.monotonic()
        if due <= now or sum(request.rows for request in group) >= self._max_rows:
            return True
        if not now < self._next_dispatch <= due:
            self._next_dispatch = due
            self._loop.call_at(due, self._dispatch)
        return False

    async def _run_batch(self, batch: list[QueuedRequest]) -> None:
        batch = [request for request in batch if request.is_pending]
        if not batch:
            return
        first, started = batch[0], time.monotonic()
        try:
            outputs = await self._compute(first.signature.name, _concatenated(batch), first.outputs, _deadline(batch))
        except Failure as failure:
            await self._split(batch, failure)
        except ProcessDied:
            self._retry_alone(batch)
        except Exception as error:  # an internal error must not leave a client without an answer
            _resolve(batch, Failure(StatusCode.INTERNAL, f"cannot compute: {error!r}"))
        else:
            await self._distribute(batch, outputs, started)

    async def _distribute(self, batch: list[QueuedRequest], outputs: Arrays, started: float) -> None:
        rows = sum(request.rows for request in batch)
        seconds = time.monotonic() - started
        self._batch_seconds = EMA_DECAY * (self._batch_seconds or seconds) + (1 - EMA_DECAY) * seconds
        self._observer.batch(rows=rows, seconds=seconds, queued=[started - request.since for request in batch])
        if len(batch) == 1:
            _resolve(batch, outputs)
        elif all(_have_rows([array], [rows]) for array in outputs.values()):
            ends = itertools.accumulate(request.rows for request in batch)
            for request, end in zip(batch, ends, strict=True):
                _resolve([request], {name: array[end - request.rows : end] for name, array in outputs.items()})
        else:
            self._not_row_wise.add(batch[0].signature.name)
            for request in batch:
                await self._run_batch([request])

    async def _split(self, batch: list[QueuedRequest], failure: Failure) -> None:
        """Halve a failed batch until the failing request is alone."""
        if len(batch) == 1:
            _resolve(batch, failure)
            return
        middle = len(batch) // 2
        await self._run_batch(batch[:middle])
        await self._run_batch(batch[middle:])

    def _retry_alone(self, batch: list[QueuedRequest]) -> None:
        """Retry each request of a batch alone after the process died: one of them may be the cause."""
        for request in batch:
            request.deaths += 1
            if request.deaths >= MAX_PROCESS_DEATHS:
                _resolve([request], Failure(StatusCode.INTERNAL, "The model's process died over the request"))
            elif request.is_pending:
                request.group, request.batchable = object(), False
                self._enqueue(request)


def _length_bits(inputs: Arrays) -> int:
    """Return the bit length of the longest text: 6 for up to 2**6 bytes, 7 for up to 2**7, ...; 0 without text."""
    texts = [array for array in inputs.values() if array.dtype == object]
    longest = sum(max(map(len, array.flat), default=0) for array in texts)
    return max(MIN_LENGTH_BITS, (longest - 1).bit_length()) if texts else 0


def _deadline(batch: list[QueuedRequest]) -> float | None:
    deadlines = [request.deadline for request in batch]
    return None if None in deadlines else max(deadlines)


def _concatenated(batch: list[QueuedRequest]) -> Arrays:
    if len(batch) == 1:
        return batch[0].inputs
    return {name: np.concatenate([request.inputs[name] for request in batch]) for name in batch[0].inputs}


def _have_rows(parts: Sequence[np.ndarray], sizes: Sequence[int]) -> bool:
    """Return whether the parts of an output have the given numbers of rows and equal ranks."""
    return len({part.ndim for part in parts}) == 1 and [len(part) if part.ndim else None for part in parts] == [*sizes]


def _padding(output: str) -> int:
    return SEGMENT_PADDING if output.endswith(SEGMENTS) else 0


def _sliced(inputs: Arrays, rows: slice) -> Arrays:
    return {name: array[rows] for name, array in inputs.items()}


def _resolve(batch: list[QueuedRequest], result: Arrays | Failure) -> None:
    for request in batch:
        if request.is_pending:
            if isinstance(result, Failure):
                request.result.set_exception(result)
            else:
                request.result.set_result(result)
