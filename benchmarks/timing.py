"""Timing of candidates in turn, so that the load of the machine affects all of them equally."""

import statistics
import time
from collections.abc import Callable, Mapping

from benchmarks.results import Table


def medians(candidates: Mapping[str, Callable[[], object]], *, rounds: int) -> dict[str, float]:
    """Return the median seconds of each candidate over the rounds, after one round that is not counted."""
    times: dict[str, list[float]] = {name: [] for name in candidates}
    for round_number in range(rounds + 1):
        for name, call in candidates.items():
            started = time.perf_counter()
            call()
            if round_number:
                times[name].append(time.perf_counter() - started)
    return {name: statistics.median(values) for name, values in times.items()}


def comparison(
    title: str, seconds: Mapping[str, float], *, unit: str, amount: float, notes: tuple[str, ...] = ()
) -> Table:
    """Return a table of seconds, rates, and the speed of the first candidate relative to each.

    Args:
        title: the measurement.
        seconds: the seconds of each candidate, ours first.
        unit: the unit of the rate.
        amount: the number of units that each candidate processed.
        notes: sentences below the table.
    """
    (ours, first), *others = seconds.items()
    rows = [[ours, f"{first:.4g}", f"{amount / first:,.0f}", ""]]
    rows += [[name, f"{value:.4g}", f"{amount / value:,.0f}", f"{value / first:.2f}"] for name, value in others]
    return Table(title=title, columns=["", "seconds", f"{unit}/s", "speed-up"], rows=rows, notes=notes)
