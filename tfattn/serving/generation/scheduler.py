"""The scheduler: continuous batching, in which sequences join and leave the running batch between steps."""

import contextlib
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterator

from grpc import StatusCode

from tfattn.errors import ServingError
from tfattn.serving.api.failure import Failure, invalid
from tfattn.serving.generation.description import Description, LanguageModel
from tfattn.serving.generation.model_runner import ModelRunner, Sampled
from tfattn.serving.generation.output import OutputChunk
from tfattn.serving.generation.request import DEFAULT_LIMITS, Occupancy, Request, TextLimits
from tfattn.serving.generation.request_processor import RequestProcessor
from tfattn.serving.generation.sequence import Sequence


class RequestHandle:
    """The receiver of a request's output, through which its caller may cancel the request.

    Args:
        send: called in the scheduler's thread, and may not block it: with chunks of output, and last, exactly once,
            with None or a failure. A cancelled request ends with a call, too.

    Attributes:
        is_cancelled: whether the output is not wanted any more.
    """

    def __init__(self, send: Callable[[OutputChunk | Failure | None], None]):
        self.is_cancelled = False
        self._send = send
        self._num_open = 0
        self._has_ended = False

    def cancel(self) -> None:
        """Cancel the request: its sequences leave before the next step, and no more chunks are sent."""
        self.is_cancelled = True

    def begin(self, num_sequences: int) -> None:
        """Set the number of sequences."""
        self._num_open = num_sequences

    def send(self, chunk: OutputChunk) -> None:
        """Send a chunk, and the end after the last chunk of the last sequence."""
        if not self.is_cancelled:
            self._send(chunk)
        self._num_open -= chunk.finish_reason is not None
        if not self._num_open:
            self.end()

    def fail(self, failure: Failure) -> None:
        """End the request with a failure."""
        self.is_cancelled = True
        with contextlib.suppress(Exception):  # a receiver that raises is itself a reason to fail
            self.end(failure)

    def end(self, failure: Failure | None = None) -> None:
        """End the request, unless it has ended."""
        if not self._has_ended:
            self._has_ended = True
            self._send(failure)


class Scheduler:
    """Text generation with an exported model, in a thread of its own. Any thread may submit requests.

    Each step generates tokens for every running sequence; sequences join and leave between steps. The text of a
    sequence does not depend on other sequences, and an exception in a sequence ends its request alone.

    Args:
        model: an export of the task language_modeling.
        limits: the most running and waiting sequences, and the size of the prefix cache.
        observe: called with the number of running and waiting sequences whenever it changes.

    Raises:
        ServingError: the model does not generate text step by step.

    Example:
        >>> with Scheduler(SavedModel(folder)) as scheduler:
        ...     for chunk in scheduler.generate(Request(prompts=("Once upon a time",), max_tokens=50)):
        ...         print(chunk.text, end="", flush=True)
    """

    def __init__(
        self,
        model: LanguageModel,
        limits: TextLimits = DEFAULT_LIMITS,
        *,
        observe: Callable[[Occupancy], None] = lambda occupancy: None,
    ):
        self.description = Description.read(model.folder)
        self._model, self._limits = model, limits
        self._processor = RequestProcessor(model, self.description, speculative=limits.speculative)
        self._runner = ModelRunner(model, self.description, limits)
        self._observe, self._observed = observe, Occupancy(0, 0)
        self._waiting: deque[Sequence] = deque()
        self._handles: dict[Sequence, RequestHandle] = {}  # of all sequences, waiting and running
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
        """Run each signature once with each set of outputs, because first calls take TensorFlow seconds."""
        for logprobs in (None, 0):
            prompt = self.description.end_ids[:1] * 2
            request = Request(prompts=(prompt,), max_tokens=1, logprobs=logprobs)
            runner = ModelRunner(self._model, self.description, TextLimits(max_running=1, prefix_bytes=0))
            runner.start(*self._processor.sequences(request))
            for _, result in runner.step():
                if isinstance(result, Exception):
                    raise result

    def submit(self, request: Request, handle: RequestHandle) -> None:
        """Enqueue a request.

        Args:
            request: the request.
            handle: receives the output.

        Raises:
            Failure: INVALID_ARGUMENT, the request is invalid or has more sequences than may ever run and wait;
                UNAVAILABLE, too many sequences wait already.
        """
        sequences = self._processor.sequences(request)
        limit = self._limits.max_running + self._limits.max_waiting
        if len(sequences) > limit:
            raise invalid(f"The request asks for {len(sequences)} texts; at most {limit} may run and wait at a time")
        with self._changed:
            if self._is_ending or len(sequences) > limit - len(self._handles):
                raise Failure(StatusCode.UNAVAILABLE, "Too many texts wait already; try again later")
            handle.begin(len(sequences))
            self._handles.update(dict.fromkeys(sequences, handle))
            self._waiting.extend(sequences)
            self._changed.notify()

    def generate(self, request: Request) -> Iterator[OutputChunk]:
        """Yield chunks of output as they are generated; closing the iterator cancels the request.

        Args:
            request: the request.

        Raises:
            Failure: as `submit`, or the failure of the generation.
        """
        received: queue.SimpleQueue[OutputChunk | Failure | None] = queue.SimpleQueue()
        handle = RequestHandle(received.put)
        self.submit(request, handle)
        try:
            while (chunk := received.get()) is not None:
                if isinstance(chunk, Failure):
                    raise chunk
                yield chunk
        finally:
            handle.cancel()

    def check_invariants(self) -> None:
        """Raise an AssertionError where the state after a step contradicts itself; only for the scheduler's thread."""
        self._runner.check_invariants()
        started = set(self._runner.sequences)
        with self._changed:
            waiting, handles = set(self._waiting), dict(self._handles)
        assert len(started) == len(self._runner.sequences) and not started & waiting, "a sequence is in one queue"
        assert started | waiting <= set(handles), "each sequence has a receiver"
        for sequence, handle in handles.items():
            if not handle.is_cancelled:  # an exception may have left a cancelled sequence in any state
                assert sequence in started or sequence in waiting, "each open sequence waits or runs"
                sequence.check_invariants()

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._handles and not self._is_ending:
                    self._changed.wait()
                if self._is_ending:
                    break
            try:
                self._step()
            except Exception as error:  # not of a single sequence, so it ends all requests
                self._fail(_failure(error))
        self._fail(Failure(StatusCode.UNAVAILABLE, "The model is being unloaded"))

    def _step(self) -> None:
        self._drop_cancelled()
        self._start_waiting()
        appended = [(sequence, self._append(sequence, sampled)) for sequence, sampled in self._runner.step()]
        for sequence, chunks in appended:
            with self._isolated(sequence):
                if sequence.finish_reason:
                    self._runner.release(sequence)
                for chunk in chunks:
                    self._send(sequence, chunk)
        self._report_occupancy()

    def _append(self, sequence: Sequence, sampled: Sampled | Exception) -> list[OutputChunk]:
        """Append tokens to a sequence until it ends, and return its new output."""
        chunks = []
        with self._isolated(sequence):
            if isinstance(sampled, Exception):
                raise sampled
            chunks += [echo] if (echo := sequence.take_echo()) is not None else []
            for token_id, token in sampled:
                chunk = sequence.append(token_id, self.description.token_bytes[token_id], token)
                chunks += [chunk] if chunk is not None else []
                if sequence.finish_reason:
                    break
        return chunks

    @contextlib.contextmanager
    def _isolated(self, sequence: Sequence) -> Iterator[None]:
        """End only the request of a sequence by an exception; its sequences leave before the next step."""
        handle = self._handles[sequence]
        try:
            yield
        except Exception as error:
            handle.fail(_failure(error))

    def _send(self, sequence: Sequence, chunk: OutputChunk) -> None:
        handle = self._handles[sequence]
        if chunk.finish_reason:
            self._forget(sequence)
        handle.send(chunk)

    def _drop_cancelled(self) -> None:
        with self._changed:
            cancelled = {sequence: handle for sequence, handle in self._handles.items() if handle.is_cancelled}
        for sequence in cancelled:
            with self._isolated(sequence):
                self._runner.release(sequence)
            self._forget(sequence)
        for handle in set(cancelled.values()):
            handle.end()

    def _forget(self, sequence: Sequence) -> None:
        with self._changed:
            del self._handles[sequence]
            with contextlib.suppress(ValueError):
                self._waiting.remove(sequence)

    def _start_waiting(self) -> None:
        while self._waiting and self._runner.has_room:
            with self._changed:
                sequence = self._waiting.popleft()
            with self._isolated(sequence):
                self._runner.start(sequence)

    def _fail(self, failure: Failure) -> None:
        """End all requests, and drop all state."""
        with self._changed:
            handles = set(self._handles.values())
            self._handles.clear()
            self._waiting.clear()
        self._runner.clear()
        for handle in handles:
            handle.fail(failure)
        self._report_occupancy()

    def _report_occupancy(self) -> None:
        occupancy = Occupancy(len(self._runner.sequences), len(self._waiting))
        if occupancy != self._observed:
            self._observed = occupancy
            self._observe(occupancy)


def _failure(error: Exception) -> Failure:
    """Return the failure for an exception. A guide or rules raise ServingError where the request is at fault."""
    if isinstance(error, Failure):
        return error
    is_caused = isinstance(error, ServingError)
    return invalid(str(error)) if is_caused else Failure(StatusCode.INTERNAL, f"cannot write: {error!r}")
