"""The processes of this machine that do the units of a step."""

import contextlib
import multiprocessing
import multiprocessing.connection
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from pydantic import PositiveInt
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tfattn.console import console
from tfattn.data.engine import Elsewhere, Engine, Step, Unit
from tfattn.errors import TfattnError

SHOWN_UNITS = 4  # of fewer no bar is shown: they take a moment


class Local(Engine):
    """Processes of this machine; a single unit is done in the process that asks.

    Args:
        processes: how many; by default as many as there are cores for this process.
    """

    def __init__(self, *, processes: PositiveInt | None = None):
        self.processes = processes or len(os.sched_getaffinity(0))

    def do(self, step: Step, units: list[Any], work: Any, elsewhere: Elsewhere, *, total: int) -> None:
        with _progress(step, total, len(units)) as advance:
            if min(self.processes, len(units)) > 1:
                self._in_processes(step, units, elsewhere, advance)
                return
            for unit in units:
                step(work, unit)
                advance()

    def _in_processes(self, step: Step, units: list[Any], elsewhere: Elsewhere, advance: Callable[[], None]) -> None:
        # Started anew, not copied: TensorFlow does not work in a copy of a process that has used it.
        context = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(self.processes, context, initializer=_begin, initargs=[elsewhere])
        with pool:
            futures = {pool.submit(_do, step, unit): place for place, unit in enumerate(units)}
            try:
                for future in as_completed(futures):
                    if future.exception() is not None:
                        break
                    advance()
                else:
                    return
            finally:
                pool.shutdown(wait=True, cancel_futures=True)
        failed = {place: future for future, place in futures.items() if not future.cancelled() and future.exception()}
        error = failed[min(failed)].exception()
        if isinstance(error, BrokenProcessPool):
            raise TfattnError(
                "a process that prepares data was ended from outside",
                remedy="If memory ran out, lower `data.engine.processes`; the same command goes on from there.",
            ) from None
        raise error


# What this process does units with, if it was started for that.
_WORK: list[Any] = []


def _begin(elsewhere: Elsewhere) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears it, and ends this process
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _WORK[:] = [elsewhere.begin()]


def _end_with_parent() -> None:
    multiprocessing.connection.wait([multiprocessing.parent_process().sentinel])
    os._exit(1)


def _do(step: Step, unit: Unit) -> None:
    step(_WORK[0], unit)


@contextlib.contextmanager
def _progress(step: Step, total: int, left: int) -> Iterator[Callable[[], None]]:
    """Yield what is called after every unit; show how far the step is where that takes a while."""
    if left < SHOWN_UNITS:
        yield lambda: None
        return
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(step.__name__, total=total, completed=total - left)
        yield lambda: progress.advance(task)
