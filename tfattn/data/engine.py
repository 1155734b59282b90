"""The processes of this machine that do the units of a step."""

import contextlib
import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any, Protocol

from pydantic import PositiveInt
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tfattn import catalog
from tfattn.console import console
from tfattn.errors import TfattnError

SHOWN_UNITS = 4  # of fewer no bar is shown: they take a moment


class Unit(Protocol):
    """A piece of a step; its name is that of its result, in the folder of the step."""

    name: str


Step = Callable[[Any, Any], None]


class Engine:
    """The contract: does the units of a step, in any order, in this process or in others."""

    def run(self, step: Step, units: Sequence[Unit], work: Any, make: Callable[[], Any] | None) -> None:
        """Does all units that are not done yet.

        Args:
            step: what is done with each: given the work and the unit, it leaves its result in the folder of the work.
            units: all of them.
            work: what all units are done with, see tfattn.data.units; it has a `folder`.
            make: makes the same in another process; None where it cannot be made there.

        Raises:
            TfattnError: a unit cannot be done.
        """
        raise NotImplementedError


class Local(Engine):
    """Does the units in processes of this machine; a single one in the process that asks.

    Args:
        processes: how many; by default as many as there are cores for this process.
    """

    def __init__(self, *, processes: PositiveInt | None = None):
        self.processes = processes or len(os.sched_getaffinity(0))

    def run(self, step: Step, units: Sequence[Unit], work: Any, make: Callable[[], Any] | None) -> None:
        left = left_of(step, units, work.folder)
        with _progress(step, len(units), len(left)) as advance:
            if make is None or min(self.processes, len(left)) < 2:
                for unit in left:
                    step(work, unit)
                    advance()
            else:
                self._in_processes(step, left, make, advance)

    def _in_processes(self, step: Step, units: list[Any], make: Callable[[], Any], advance: Callable) -> None:
        # Started anew, not copied: TensorFlow does not work in a copy of a process that has used it.
        context = multiprocessing.get_context("spawn")
        arguments = make, list(catalog.PLUGINS), sys.path
        pool = ProcessPoolExecutor(self.processes, context, initializer=_begin, initargs=arguments)
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


def left_of(step: Step, units: Sequence[Unit], folder: Path) -> list[Any]:
    """The units whose results do not stand in the folder of the work."""
    return [unit for unit in units if not (folder / step.__name__ / unit.name).exists()]


# What this process does units with, if it was started for that.
_WORK: list[Any] = []


def _begin(make: Callable[[], Any], plugins: list[str], path: list[str]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears it, and ends this process
    threading.Thread(target=_end_with_parent, daemon=True).start()
    sys.path[:] = path
    for plugin in plugins:
        catalog.register(plugin)
    _WORK[:] = [make()]


def _end_with_parent() -> None:
    multiprocessing.connection.wait([multiprocessing.parent_process().sentinel])
    os._exit(1)


def _do(step: Step, unit: Unit) -> None:
    step(_WORK[0], unit)


@contextlib.contextmanager
def _progress(step: Step, total: int, left: int):
    """Yields what is called after every unit; shows how far the step is where that takes a while."""
    if left < SHOWN_UNITS:
        yield lambda: None
        return
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(step.__name__, total=total, completed=total - left)
        yield lambda: progress.advance(task)
