"""One version of a served model: its process, its queue and its state."""

import asyncio
import collections
import contextlib
import enum
import functools
import math
import os
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from grpc import StatusCode

from tfattn.serving.api.failure import Failure
from tfattn.serving.api.signature import Signature
from tfattn.serving.engine.batching import MAX_PROCESS_DEATHS, Batcher
from tfattn.serving.engine.batching_parameters import BatchingParameters
from tfattn.serving.engine.channel import Arrays
from tfattn.serving.engine.process import Process, ProcessDied
from tfattn.serving.generation.description import writes_texts
from tfattn.serving.generation.output import OutputChunk
from tfattn.serving.generation.request import Request, TextLimits
from tfattn.serving.monitoring.logs import log
from tfattn.serving.monitoring.metrics import Metrics
from tfattn.serving.section import Serving

# A dead process is restarted at once, at most MAX_RESTARTS times within RESTART_WINDOW seconds.
MAX_RESTARTS, RESTART_WINDOW = 3, 60.0
LOG_SECONDS = 5.0  # between lines about the progress of a warm-up
HANG_FACTOR = 2  # a process that computes for this multiple of the clients' deadline counts as hanging


class VersionState(enum.Enum):
    """The states of a version in GetModelStatus."""

    START = 10
    LOADING = 20
    AVAILABLE = 30
    UNLOADING = 40
    END = 50


class Version:
    """One version of a model.

    Args:
        model: the model's name.
        number: the version's number.
        folder: the version's folder.
        serving: the server's settings.
        parameters: the parameters of batching; None computes each request alone.
        metrics: the server's metrics.

    Attributes:
        state: the state of the version.
        error: why the version could not be loaded, or ended; None without an error.
        progress: how far loading is.
        signatures: the model's signatures by name, once it is loaded.
        writes_texts: whether the model generates text.
    """

    def __init__(
        self,
        model: str,
        number: int,
        folder: Path,
        *,
        serving: Serving,
        parameters: BatchingParameters | None,
        metrics: Metrics,
    ):
        self.model, self.number, self.folder = model, number, folder
        self.state = VersionState.START
        self.error: Failure | None = None
        self.progress = "waiting to be loaded"
        self.signatures: dict[str, Signature] = {}
        self.writes_texts = writes_texts(folder)
        self._load_seconds, self._timeout_seconds = serving.load_seconds, serving.timeout_seconds
        self._allow_operations = serving.allow_operations
        self._engine = serving.engine
        self._limits = TextLimits(serving.texts, serving.texts_waiting, serving.prefix_mib * 2**20)
        self._threads = serving.worker_threads or (parameters.num_threads if parameters else os.cpu_count() or 1)
        self._parameters = parameters
        self._metrics = metrics
        self._process: asyncio.Task[Process] | None = None
        self._deaths: collections.deque[float] = collections.deque([-math.inf] * MAX_RESTARTS, maxlen=MAX_RESTARTS)
        self._batcher: Batcher | None = None
        self._next_log = 0.0
        self._users = 0
        self._unused = asyncio.Event()

    async def load(self, *, low_priority: bool = False) -> None:
        """Start the process, load the model and warm it up, without retries.

        Args:
            low_priority: whether to load only while the machine is otherwise idle, since another version answers.

        Raises:
            Failure: the model cannot be loaded; `state` is END then and `error` is the reason.
        """
        self.state, self.error = VersionState.LOADING, None
        self._process = asyncio.create_task(self._start(low_priority=low_priority))
        try:
            process = await self._process
        except asyncio.CancelledError:
            self.state = VersionState.END
            if not self._process.cancelled():  # the process has just started
                await self._process.result().end()
            raise
        self.signatures = process.signatures
        self._batcher = Batcher(
            self._compute, parameters=self._parameters, threads=self._threads, observer=_ModelObserver(self)
        )
        self.state = VersionState.AVAILABLE

    @property
    def is_answering(self) -> bool:
        """Whether the process runs; false while a dead or hanging process is replaced."""
        return self.state is VersionState.AVAILABLE and self._process.done()

    async def run(self, signature: str, inputs: Arrays, outputs: tuple[str, ...], deadline: float | None) -> Arrays:
        """Compute outputs of a signature.

        Args:
            signature: the name of the signature.
            inputs: its inputs, already validated.
            outputs: the names of the requested outputs; all outputs if empty.
            deadline: the time in the event loop's clock after which the request fails; None for no deadline.

        Raises:
            Failure: UNAVAILABLE if the queue is too long, DEADLINE_EXCEEDED, or a TensorFlow error.
        """
        with self.use():
            return await self._batcher.run(self.signatures[signature], inputs, outputs, deadline)

    async def write(self, request: Request) -> AsyncIterator[OutputChunk]:
        """Yield pieces of texts as they are generated. Closing the iterator cancels the request.

        Raises:
            Failure: INVALID_ARGUMENT for an invalid prompt; UNAVAILABLE if the queue is full or the process died.
        """
        with self.use():
            has_started, deaths = False, 0
            while True:
                process = await self._running_process()
                try:
                    async with contextlib.aclosing(process.write(request)) as pieces:
                        async for piece in pieces:
                            has_started = True
                            yield piece
                        return
                except ProcessDied:
                    deaths += 1
                    await asyncio.shield(process.ended)  # by then the next process is starting
                    if has_started or deaths == MAX_PROCESS_DEATHS:
                        raise Failure(StatusCode.UNAVAILABLE, "The model's process died while it wrote") from None

    @contextlib.contextmanager
    def use(self) -> Iterator[None]:
        """Keep the version from being unloaded while the block runs."""
        self._users += 1
        try:
            yield
        finally:
            self._users -= 1
            if not self._users:
                self._unused.set()

    async def unload(self) -> None:
        """Wait until no request uses the version, then end its process."""
        self.state = VersionState.UNLOADING
        while self._users:
            self._unused.clear()
            await self._unused.wait()
        if self._process is not None:
            with contextlib.suppress(Failure):
                await (await self._process).end()
        self.state = VersionState.END

    async def _start(self, *, low_priority: bool = False) -> Process:
        started = time.monotonic()
        self.progress = "loading"
        try:
            async with asyncio.timeout(self._load_seconds):
                process = await Process.start(
                    self.folder,
                    engine=self._engine,
                    threads=self._threads,
                    allow_operations=self._allow_operations,
                    limits=self._limits,
                    low_priority=low_priority,
                    cancel_seconds=self._timeout_seconds,
                    observe=functools.partial(self._metrics.texts, self.model, self.number),
                    report=self._report_warm_up,
                )
        except (Failure, TimeoutError) as error:
            late = Failure(StatusCode.DEADLINE_EXCEEDED, f"It was not loaded and warm within {self._load_seconds:g} s")
            self.state, self.error = VersionState.END, error if isinstance(error, Failure) else late
            self._metrics.loaded(self.model, self.number, seconds=time.monotonic() - started, ok=False)
            raise self.error from None
        self._metrics.loaded(self.model, self.number, seconds=time.monotonic() - started, ok=True)
        self._metrics.warmed(self.model, self.number, records=process.warm_up_requests, seconds=process.warm_up_seconds)
        process.ended.add_done_callback(self._restart_if_died)
        return process

    def _report_warm_up(self, answered: int, total: int) -> None:
        self.progress = f"warming up: {answered} of {total} requests answered"
        if total and (answered == 0 or time.monotonic() >= self._next_log):
            self._next_log = time.monotonic() + LOG_SECONDS
            log("version_warming_up", model=self.model, version=self.number, answered=answered, total=total)

    def _restart_if_died(self, ended: asyncio.Task[str]) -> None:
        if self.state is not VersionState.AVAILABLE:
            return
        now, reason = time.monotonic(), ended.result()
        log("process_died", model=self.model, version=self.number, reason=reason)
        if now - self._deaths[0] < RESTART_WINDOW:
            self.state = VersionState.END
            self.error = Failure(StatusCode.UNAVAILABLE, f"The model's process dies again and again: {reason}")
            return
        self._deaths.append(now)
        self._process = asyncio.create_task(self._start())
        self._process.add_done_callback(lambda start: start.cancelled() or start.exception())  # see `error`

    async def _running_process(self) -> Process:
        with contextlib.suppress(Failure):  # `state` is END then
            process = await asyncio.shield(self._process)
        if self.state is VersionState.END:
            raise Failure(StatusCode.UNAVAILABLE, "The model's process died and is not started again at once")
        return process

    async def _compute(
        self, signature: str, inputs: Arrays, outputs: tuple[str, ...], deadline: float | None
    ) -> Arrays:
        process = await self._running_process()
        left = 0.0 if deadline is None else deadline - asyncio.get_running_loop().time()
        try:
            return await process.run(signature, inputs, outputs, seconds=HANG_FACTOR * max(left, self._timeout_seconds))
        except ProcessDied:
            await asyncio.shield(process.ended)  # by then the next process is starting
            raise


class _ModelObserver:
    """An observer that records batches under the model's name."""

    def __init__(self, version: Version):
        self._model, self._metrics = version.model, version._metrics

    def batch(self, *, rows: int, seconds: float, queued: list[float]) -> None:
        self._metrics.batch(self._model, rows=rows, seconds=seconds, queued=queued)

    def queue(self, *, rows: int) -> None:
        self._metrics.queue(self._model, rows)
