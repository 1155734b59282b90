"""Candidates timed in turn, round after round, so that a busy machine is busy for all of them."""

import statistics
import time
from collections.abc import Callable, Mapping

from benchmarks.results import Table


def medians(candidates: Mapping[str, Callable[[], object]], *, rounds: int) -> dict[str, float]:
    """Return the median seconds of each candidate, called once per round, after one round that does not count."""
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
    """Return seconds, rate and how many times faster the first candidate is than each.

    Args:
        title: what was timed.
        seconds: of each candidate, ours first.
        unit: what is counted.
        amount: how many of them each candidate did.
        notes: sentences below the table.
    """
    (ours, first), *others = seconds.items()
    rows = [[ours, f"{first:.4g}", f"{amount / first:,.0f}", ""]]
    rows += [[name, f"{value:.4g}", f"{amount / value:,.0f}", f"{value / first:.2f}"] for name, value in others]
    return Table(title=title, columns=["", "seconds", f"{unit}/s", "speed-up of ours"], rows=rows, notes=notes)
