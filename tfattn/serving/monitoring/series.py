"""Time series in Prometheus' text format, exactly like TF Serving.

The client library of Prometheus would append `_total` to the names of counters.
"""

import bisect
import itertools
from collections.abc import Iterator
from typing import Literal


class Series(dict):
    """The values of a metric by the values of its labels.

    Args:
        name: the name, such as `:tensorflow:serving:request_count`.
        kind: the type of the metric.
        labels: the names of the labels.
        max_size: the maximum number of values; a new value evicts the oldest.

    Example:
        >>> counts = Series(":made:requests", "counter", "model_name")
        >>> counts["reports",] += 2
        >>> list(counts.lines())
        ['# TYPE :made:requests counter', ':made:requests{model_name="reports"} 2']
    """

    def __init__(self, name: str, kind: Literal["counter", "gauge", "histogram"], *labels: str, max_size: int = 1000):
        super().__init__()
        self.name = name
        self.labels = labels
        self._head = f"# TYPE {name} {kind}"
        self._max_size = max_size

    def __missing__(self, key: tuple[str, ...]):
        self._evict()
        return 0

    def lines(self) -> Iterator[str]:
        """Yield the lines of the text format; nothing without values."""
        if self:
            yield self._head
        for key, value in self.items():
            yield self._line("", key, value)

    def _evict(self) -> None:
        if len(self) >= self._max_size:
            del self[next(iter(self))]

    def _line(self, suffix: str, key: tuple[str, ...], value: float, **more: str) -> str:
        labels = [*zip(self.labels, key, strict=True), *more.items()]
        pairs = ",".join(f'{name}="{_escape(value)}"' for name, value in labels)
        return f"{self.name}{suffix}{{{pairs}}} {value}"


class HistogramSeries(Series):
    """The histograms of a metric.

    Args:
        name, labels, max_size: see `Series`.
        first, growth, count: the first bucket limit, the ratio between limits, and their number.

    Example:
        >>> sizes = HistogramSeries(":made:sizes", first=1, growth=2, count=3)
        >>> sizes[()].add(2)
        >>> list(sizes.lines())[:3]
        ['# TYPE :made:sizes histogram', ':made:sizes_bucket{le="1"} 0', ':made:sizes_bucket{le="2"} 1']
    """

    def __init__(self, name: str, *labels: str, first: float, growth: float, count: int, max_size: int = 1000):
        super().__init__(name, "histogram", *labels, max_size=max_size)
        self._limits = [first * growth**exponent for exponent in range(count)]

    def __missing__(self, key: tuple[str, ...]) -> "Histogram":
        self._evict()
        self[key] = histogram = Histogram(self._limits)
        return histogram

    def lines(self) -> Iterator[str]:
        if self:
            yield self._head
        limits = [*(f"{limit:g}" for limit in self._limits), "+Inf"]
        for key, histogram in self.items():
            totals = list(itertools.accumulate(histogram.counts))
            for limit, total in zip(limits, totals, strict=True):
                yield self._line("_bucket", key, total, le=limit)
            yield self._line("_sum", key, histogram.sum)
            yield self._line("_count", key, totals[-1])


class Histogram:
    """A histogram.

    Attributes:
        counts: the number of values in each bucket; the last bucket has no upper limit.
        sum: the sum of all values.
    """

    __slots__ = ("_limits", "counts", "sum")

    def __init__(self, limits: list[float]):
        self._limits = limits
        self.counts = [0] * (len(limits) + 1)
        self.sum = 0.0

    def add(self, value: float) -> None:
        """Add a value."""
        self.counts[bisect.bisect_left(self._limits, value)] += 1
        self.sum += value


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
