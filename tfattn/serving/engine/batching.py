"""Dynamic batching: rows of several requests are computed together.

What may share a batch: requests of the same signature, wanted outputs and shapes, and texts of about the same length,
so that little of a batch is padding. A batch that fails is split until the request that fails stands alone. What nobody
waits for any more is not computed.
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
from tfattn.serving.engine.messages import Arrays
from tfattn.serving.engine.process import Died

MOST_DEATHS = 2  # a request that was being computed as the process died is tried once more, alone
# While a batch is computed, the next one waits for company so many seconds before it is computed beside it: calls of a
# small model cost more than their rows, and where a call takes long, such a wait is nothing.
COMPANY = 0.002
SHORT = 6  # texts of up to 2**6 bytes count as equally long
MEMORY = 0.9  # how slowly the estimate of a batch's time follows what is measured
MARGIN = 1.3  # by which a wait may turn out longer than estimated
# Beyond this wait a queue only makes every response late. Where batches take longer, a few of them may wait.
LONGEST_WAIT, BATCHES = 0.5, 3.0

Compute = Callable[[str, Arrays, Sequence[str], float | None], Awaitable[Arrays]]


class Observer(Protocol):
    """The contract of what observes batches."""

    def batch(self, *, rows: int, seconds: float, queued: list[float]) -> None:
        """Note a computed batch: its rows, the time it took, and the waiting time of each of its requests."""

    def queue(self, *, rows: int) -> None:
        """Note the number of rows that wait now."""


@dataclass(eq=False)
class Waiting:
    """A request in the queue."""

    signature: Signature
    inputs: Arrays
    outputs: tuple[str, ...]
    rows: int
    result: asyncio.Future
    since: float
    deadline: float | None
    deaths: int = 0
    group: Hashable = field(default_factory=object)  # equal for what may share a batch
    may_share: bool = False
    is_queued: bool = False

    @property
    def is_wanted(self) -> bool:
        """Whether the client still waits for the outputs."""
        return not self.result.done()


class Batcher:
    """Joins requests into batches and computes a few of them at a time, on one event loop.

    Args:
        compute: computes the outputs of a signature, given when the last who waits for them gives up (None where
            somebody never does); raises Failure or Died.
        parameters: how requests share batches; None computes each request alone.
        threads: how many batches are computed at a time.
        observer: hears of each batch.
    """

    def __init__(self, compute: Compute, *, parameters: BatchingParameters | None, threads: int, observer: Observer):
        self._compute = compute
        self._parameters = parameters
        self._most_queued = (parameters or BatchingParameters()).max_queued_rows
        self._free = threads
        self._threads = threads
        self._observer = observer
        self._groups: OrderedDict[Hashable, deque[Waiting]] = OrderedDict()
        self._queued_rows = 0
        self._batch_seconds = 0.0
        self._next_look = 0.0  # when `_dispatch` is called next, where a batch waits for company
        self._not_by_rows: set[str] = set()  # signatures whose outputs turned out not to be one for each row
        self._tasks: set[asyncio.Task] = set()
        self._loop = asyncio.get_running_loop()

    async def run(
        self, signature: Signature, inputs: Arrays, outputs: tuple[str, ...], deadline: float | None
    ) -> Arrays:
        """Compute a request, each of its rows as if it were alone.

        Only the padding depends on other rows: an output that is as wide as its longest row is as wide as the longest
        one that shared a batch.

        Args:
            signature: what to compute.
            inputs: its inputs, which fit it.
            outputs: the names of the outputs that are wanted.
            deadline: when nobody waits any more, in the event loop's time.

        Raises:
            Failure: UNAVAILABLE at once when too much waits already; DEADLINE_EXCEEDED; as TensorFlow says.
        """
        waiting = self._waiting(signature, inputs, outputs, deadline)
        if waiting.rows > self._room and waiting.may_share:
            return await self._run_in_parts(waiting)
        self._admit(waiting)
        self._put(waiting)
        self._dispatch()
        try:
            async with asyncio.timeout_at(deadline):
                return await waiting.result
        except TimeoutError:
            raise Failure(StatusCode.DEADLINE_EXCEEDED, "Deadline exceeded while the request waited") from None
        finally:
            if waiting.is_queued:  # nobody waits for it any more
                self._groups[waiting.group].remove(waiting)
                self._taken([waiting])

    async def _run_in_parts(self, whole: Waiting) -> Arrays:
        """Compute a request of more rows than a batch holds batch by batch."""
        parts: list[Arrays] = []
        for start in range(0, whole.rows, self._room * self._threads):
            ends = [start + self._room * part for part in range(self._threads + 1)]
            slices = [slice(*pair) for pair in itertools.pairwise(ends) if pair[0] < whole.rows]
            parts += await asyncio.gather(
                *(
                    self.run(whole.signature, _sliced(whole.inputs, rows), whole.outputs, whole.deadline)
                    for rows in slices
                )
            )
        columns = {name: [part[name] for part in parts] for name in parts[0]}
        sizes = [min(self._room, whole.rows - start) for start in range(0, whole.rows, self._room)]
        if not all(_have_rows(arrays, sizes) for arrays in columns.values()):
            self._not_by_rows.add(whole.signature.name)
            return await self.run(whole.signature, whole.inputs, whole.outputs, whole.deadline)
        return {name: joined_rows(arrays, pad=_padding(name)) for name, arrays in columns.items()}

    def _waiting(self, signature: Signature, inputs: Arrays, outputs: tuple[str, ...], deadline) -> Waiting:
        sizes = {len(array) if array.ndim else None for array in inputs.values()}
        by_rows = len(sizes) == 1 and None not in sizes and 0 not in sizes
        waiting = Waiting(
            signature=signature,
            inputs=inputs,
            outputs=outputs,
            rows=sizes.pop() if by_rows else 1,
            result=self._loop.create_future(),
            since=time.monotonic(),
            deadline=deadline,
        )
        if by_rows and self._parameters and signature.has_rows and signature.name not in self._not_by_rows:
            shapes = tuple([(name, inputs[name].shape[1:]) for name in signature.inputs if name in inputs])
            waiting.group = (signature.name, outputs, shapes, _length(inputs))
            waiting.may_share = True
        return waiting

    def _admit(self, waiting: Waiting) -> None:
        if self._queued_rows and self._queued_rows + waiting.rows > self._most_queued:
            raise Failure(StatusCode.UNAVAILABLE, "The batch scheduling queue is full")
        if not self._queued_rows:
            return
        batches = max(len(self._groups), (self._queued_rows + waiting.rows) // self._room) + 1  # and what is under way
        expected = MARGIN * self._batch_seconds * batches / self._threads
        if expected > max(LONGEST_WAIT, BATCHES * self._batch_seconds):
            raise Failure(StatusCode.UNAVAILABLE, "The batch scheduling queue is too long")
        if waiting.deadline is not None and waiting.since + expected > waiting.deadline:
            raise Failure(StatusCode.UNAVAILABLE, "The queue is too long for the request's deadline")

    def _put(self, waiting: Waiting) -> None:
        self._groups.setdefault(waiting.group, deque()).append(waiting)
        self._queued_rows += waiting.rows
        waiting.is_queued = True
        self._observer.queue(rows=self._queued_rows)

    def _taken(self, batch: list[Waiting]) -> None:
        for waiting in batch:
            waiting.is_queued = False
            self._queued_rows -= waiting.rows
        if not self._groups[batch[0].group]:
            del self._groups[batch[0].group]
        self._observer.queue(rows=self._queued_rows)

    def _dispatch(self) -> None:
        """Start as many batches as there are free threads, those that have waited longest first."""
        while self._free and (batch := self._next_batch()):
            self._free -= 1
            task = self._loop.create_task(self._run(batch))
            self._tasks.add(task)
            task.add_done_callback(self._finished)

    def _finished(self, task: asyncio.Task) -> None:
        self._tasks.discard(task)
        self._free += 1
        self._dispatch()

    def _next_batch(self) -> list[Waiting]:
        for group in sorted(self._groups.values(), key=lambda group: group[0].since):
            if self._is_due(group):
                batch = [group.popleft()]
                room = self._room - batch[0].rows
                while group and group[0].rows <= room:
                    batch.append(group.popleft())
                    room -= batch[-1].rows
                self._taken(batch)
                return batch
        return []

    @property
    def _room(self) -> int:
        return self._parameters.max_batch_size if self._parameters else 1

    def _is_due(self, group: deque[Waiting]) -> bool:
        is_idle = self._free == self._threads  # then waiting could only make it later
        if is_idle or not self._parameters or not group[0].may_share:
            return True
        due = group[0].since + max(self._parameters.timeout, COMPANY)
        now = time.monotonic()
        if due <= now or sum(waiting.rows for waiting in group) >= self._room:
            return True
        if not now < self._next_look <= due:
            self._next_look = due
            self._loop.call_at(due, self._dispatch)
        return False

    async def _run(self, batch: list[Waiting]) -> None:
        batch = [waiting for waiting in batch if waiting.is_wanted]
        if not batch:
            return
        first, started = batch[0], time.monotonic()
        try:
            outputs = await self._compute(first.signature.name, _joined(batch), first.outputs, _deadline(batch))
        except Failure as failure:
            await self._failed(batch, failure)
        except Died:
            self._died(batch)
        except Exception as error:  # a mistake of ours must not leave anybody waiting
            _resolve(batch, Failure(StatusCode.INTERNAL, f"cannot compute: {error!r}"))
        else:
            await self._computed(batch, outputs, started)

    async def _computed(self, batch: list[Waiting], outputs: Arrays, started: float) -> None:
        rows = sum(waiting.rows for waiting in batch)
        seconds = time.monotonic() - started
        self._batch_seconds = MEMORY * (self._batch_seconds or seconds) + (1 - MEMORY) * seconds
        self._observer.batch(rows=rows, seconds=seconds, queued=[started - waiting.since for waiting in batch])
        if len(batch) == 1:
            _resolve(batch, outputs)
        elif all(_have_rows([array], [rows]) for array in outputs.values()):
            ends = itertools.accumulate(waiting.rows for waiting in batch)
            for waiting, end in zip(batch, ends, strict=True):
                _resolve([waiting], {name: array[end - waiting.rows : end] for name, array in outputs.items()})
        else:
            self._not_by_rows.add(batch[0].signature.name)
            for waiting in batch:
                await self._run([waiting])

    async def _failed(self, batch: list[Waiting], failure: Failure) -> None:
        """Halve a batch until the request that fails is alone."""
        if len(batch) == 1:
            _resolve(batch, failure)
            return
        middle = len(batch) // 2
        await self._run(batch[:middle])
        await self._run(batch[middle:])

    def _died(self, batch: list[Waiting]) -> None:
        """Try each request once more, alone: one of them may have been the cause."""
        for waiting in batch:
            waiting.deaths += 1
            if waiting.deaths >= MOST_DEATHS:
                _resolve([waiting], Failure(StatusCode.INTERNAL, "The model's process died over the request"))
            elif waiting.is_wanted:
                waiting.group, waiting.may_share = object(), False
                self._put(waiting)


def _length(inputs: Arrays) -> int:
    """Return the order of magnitude of the longest text: 6 for up to 2**6 bytes, 7 for 2**7 ...; 0 for no text."""
    texts = [array for array in inputs.values() if array.dtype == object]
    longest = sum(max(map(len, array.flat), default=0) for array in texts)
    return max(SHORT, (longest - 1).bit_length()) if texts else 0


def _deadline(batch: list[Waiting]) -> float | None:
    deadlines = [waiting.deadline for waiting in batch]
    return None if None in deadlines else max(deadlines)


def _joined(batch: list[Waiting]) -> Arrays:
    if len(batch) == 1:
        return batch[0].inputs
    return {name: np.concatenate([waiting.inputs[name] for waiting in batch]) for name in batch[0].inputs}


def _have_rows(parts: Sequence[np.ndarray], sizes: Sequence[int]) -> bool:
    """Whether the parts of an output have so many rows each, and can be joined."""
    return len({part.ndim for part in parts}) == 1 and [len(part) if part.ndim else None for part in parts] == [*sizes]


def _padding(output: str) -> int:
    return SEGMENT_PADDING if output.endswith(SEGMENTS) else 0


def _sliced(inputs: Arrays, rows: slice) -> Arrays:
    return {name: array[rows] for name, array in inputs.items()}


def _resolve(batch: list[Waiting], result: Arrays | Failure) -> None:
    for waiting in batch:
        if waiting.is_wanted:
            if isinstance(result, Failure):
                waiting.result.set_exception(result)
            else:
                waiting.result.set_result(result)
