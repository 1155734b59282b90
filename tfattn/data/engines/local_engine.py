"""Local processes that run the units of a step."""

import contextlib
import multiprocessing
import multiprocessing.connection
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from typing import Any

from pydantic import PositiveInt

from tfattn import console, native
from tfattn.data.engines.engine import Elsewhere, Engine, Step, Unit
from tfattn.errors import TfattnError

MIN_UNITS_FOR_PROGRESS = 4  # fewer units finish too quickly for a progress bar


class Local(Engine):
    """Processes of this machine, including the current process.

    Args:
        processes: number of processes; by default the number of cores that are available to this process.
    """

    def __init__(self, *, processes: PositiveInt | None = None):
        self.processes = processes or len(os.sched_getaffinity(0))
        self._others: ProcessPoolExecutor | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_others": None}  # a copy in another process starts its own processes

    def do(self, step: Step, units: list[Any], work: Any, elsewhere: Elsewhere, *, total: int) -> None:
        with _progress(step, total, len(units)) as advance:
            if min(self.processes, len(units)) > 1:
                self._run_parallel(step, units, work, elsewhere, advance)
                return
            for unit in units:
                step(work, unit)
                advance()

    def close(self) -> None:
        if self._others is not None:
            self._others.shutdown(wait=True, cancel_futures=True)
            self._others = None

    def _run_parallel(
        self, step: Step, units: list[Any], work: Any, elsewhere: Elsewhere, advance: Callable[[], None]
    ) -> None:
        """Assign units to idle processes; the current process runs its units in a thread."""
        if self._others is None:
            # Spawned, not forked: TensorFlow does not work in a fork of a process that has used it.
            context = multiprocessing.get_context("spawn")
            self._others = ProcessPoolExecutor(self.processes - 1, context, initializer=_begin)
        left, running, failed = deque(enumerate(units)), {}, {}
        with ThreadPoolExecutor(1) as here:
            free = [partial(here.submit, step, work)]
            free += [partial(self._others.submit, _do, step, elsewhere)] * (self.processes - 1)
            while running or left and not failed:
                while free and left and not failed:
                    (index, unit), begin = left.popleft(), free.pop()
                    running[begin(unit)] = index, begin
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    index, begin = running.pop(future)
                    free.append(begin)
                    if future.exception() is None:
                        advance()
                    else:
                        failed[index] = future.exception()
        if failed:
            raise _user_error(failed[min(failed)])


# The work of the current step in a worker process.
_WORK: dict[Step, Any] = {}


def _begin() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles the signal and stops this process
    threading.Thread(target=_end_with_parent, daemon=True).start()
    native.import_tensorflow()


def _end_with_parent() -> None:
    multiprocessing.connection.wait([multiprocessing.parent_process().sentinel])
    os._exit(1)


def _do(step: Step, elsewhere: Elsewhere, unit: Unit) -> None:
    if step not in _WORK:  # each step needs the results of earlier steps
        _WORK.clear()
        _WORK[step] = elsewhere.begin()
    step(_WORK[step], unit)


def _user_error(error: BaseException) -> BaseException:
    """Convert the error of a unit to an error for the user."""
    if isinstance(error, BrokenProcessPool):
        return TfattnError(
            "a process that prepares data was ended from outside",
            remedy="If memory ran out, lower `data.engine.processes`; the same command goes on from there.",
        )
    return error


@contextlib.contextmanager
def _progress(step: Step, total: int, left: int) -> Iterator[Callable[[], None]]:
    """Yield a callback for finished units; show a progress bar for many units."""
    if left < MIN_UNITS_FOR_PROGRESS:
        yield lambda: None
        return
    with console.progress(step.__name__, total, done=total - left) as advance:
        yield advance
