"""Candidates timed in turn, round after round, so that a busy machine is busy for all of them."""

import statistics
import time
from collections.abc import Callable, Mapping


def medians(candidates: Mapping[str, Callable[[], object]], *, rounds: int) -> dict[str, float]:
    """Median seconds of each candidate, called once per round, after one round that does not count."""
    times: dict[str, list[float]] = {name: [] for name in candidates}
    for round_number in range(rounds + 1):
        for name, call in candidates.items():
            started = time.perf_counter()
            call()
            if round_number:
                times[name].append(time.perf_counter() - started)
    return {name: statistics.median(values) for name, values in times.items()}


def report(title: str, seconds: Mapping[str, float], *, unit: str, amount: float) -> None:
    """Prints seconds, rate and how many times faster the first is than each."""
    ours = next(iter(seconds.values()))
    print(f"\n{title}")
    for name, value in seconds.items():
        print(
            f"  {name:<36} {value:9.4f} s  {amount / value:12,.0f} {unit}/s   ours is {value / ours:5.2f}x as fast",
            flush=True,
        )
