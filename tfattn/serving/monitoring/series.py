"""Time series for Prometheus, printed exactly as TF Serving prints them.

The client library of Prometheus would end the names of counters in `_total`, which TF Serving's do not.
"""

import bisect
import itertools
from collections.abc import Iterator
from typing import Literal


class Series(dict):
    """The values of one metric, by the values of its labels.

    Args:
        name: the name, such as `:tensorflow:serving:request_count`.
        kind: what Prometheus shall take it for.
        labels: the names of the labels.
        most: how many there are at most; for one more, the one that was first is forgotten.

    Example:
        >>> counts = Series(":made:requests", "counter", "model_name")
        >>> counts["reports",] += 2
        >>> list(counts.lines())
        ['# TYPE :made:requests counter', ':made:requests{model_name="reports"} 2']
    """

    def __init__(self, name: str, kind: Literal["counter", "gauge", "histogram"], *labels: str, most: int = 1000):
        super().__init__()
        self.name = name
        self.labels = labels
        self._head = f"# TYPE {name} {kind}"
        self._most = most

    def __missing__(self, key: tuple[str, ...]):
        self._make_room()
        return 0

    def lines(self) -> Iterator[str]:
        """Write the lines for Prometheus; none as long as there are no values."""
        if self:
            yield self._head
        for key, value in self.items():
            yield self._line("", key, value)

    def _make_room(self) -> None:
        if len(self) >= self._most:
            del self[next(iter(self))]

    def _line(self, suffix: str, key: tuple[str, ...], value: float, **more: str) -> str:
        labels = [*zip(self.labels, key, strict=True), *more.items()]
        pairs = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels)
        return f"{self.name}{suffix}{{{pairs}}} {value}"


class Distributions(Series):
    """Histograms of one metric: the number of values up to each of some limits.

    Args:
        name, labels, most: as of `Series`.
        first, growth, count: the limits, each `growth` times the one before it.

    Example:
        >>> sizes = Distributions(":made:sizes", first=1, growth=2, count=3)
        >>> sizes[()].add(2)
        >>> list(sizes.lines())[:3]
        ['# TYPE :made:sizes histogram', ':made:sizes_bucket{le="1"} 0', ':made:sizes_bucket{le="2"} 1']
    """

    def __init__(self, name: str, *labels: str, first: float, growth: float, count: int, most: int = 1000):
        super().__init__(name, "histogram", *labels, most=most)
        self._limits = [first * growth**exponent for exponent in range(count)]

    def __missing__(self, key: tuple[str, ...]) -> "Distribution":
        self._make_room()
        self[key] = distribution = Distribution(self._limits)
        return distribution

    def lines(self) -> Iterator[str]:
        if self:
            yield self._head
        limits = [*(f"{limit:g}" for limit in self._limits), "+Inf"]
        for key, distribution in self.items():
            totals = list(itertools.accumulate(distribution.counts))
            for limit, total in zip(limits, totals, strict=True):
                yield self._line("_bucket", key, total, le=limit)
            yield self._line("_sum", key, distribution.sum)
            yield self._line("_count", key, totals[-1])


class Distribution:
    """The histogram of one key.

    Attributes:
        counts: how many values there were up to each limit and above the one before, and above the last.
        sum: of all values.
    """

    __slots__ = ("_limits", "counts", "sum")

    def __init__(self, limits: list[float]):
        self._limits = limits
        self.counts = [0] * (len(limits) + 1)
        self.sum = 0.0

    def add(self, value: float) -> None:
        """Count one value."""
        self.counts[bisect.bisect_left(self._limits, value)] += 1
        self.sum += value


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
