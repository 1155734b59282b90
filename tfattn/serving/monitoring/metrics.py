"""The server's counters and histograms, with TF Serving's names.

All methods run on the event loop, without locks. Times are in microseconds, like in TF Serving.
"""

import bisect
import itertools
from collections.abc import Iterable, Iterator
from typing import Literal

from grpc import StatusCode
from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest

from tfattn.serving.generation.output import Usage
from tfattn.serving.generation.request import Occupancy

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

# From 10 microseconds to about 20 minutes.
_LATENCY = {"first": 10, "growth": 1.8, "count": 33}
_QUEUING = {"first": 100, "growth": 1.2, "count": 52}
_SIZES = {"first": 1, "growth": 2, "count": 14}

# Metrics by version are limited to the newest, because a server may receive new versions indefinitely.
_MAX_VERSIONS = 20


class Metrics:
    """The server's metrics.

    Callers must pass only names of served models, or "" for other requests, so that clients cannot add series.

    Example:
        >>> metrics = Metrics()
        >>> metrics.request("reports", 3, api="predict", entrypoint="REST", code=StatusCode.OK, seconds=0.002)
        >>> ':tensorflow:serving:request_count{model_name="reports",status="OK"} 1' in metrics.text().decode()
        True
    """

    def __init__(self) -> None:
        serving, batching = ":tensorflow:serving", ":tensorflow:serving:batching_session"
        saved_model, ours = ":tensorflow:cc:saved_model", ":tfattn:serving"
        labels = ("model_name", "API")
        paths = {"max_size": _MAX_VERSIONS}
        self._requests = Series(f"{serving}:request_count", "counter", "model_name", "status")
        self._by_version = Series(f"{ours}:request_count", "counter", "model_name", "version", "status", **paths)
        self._latency = HistogramSeries(f"{serving}:request_latency", *labels, "entrypoint", **_LATENCY)
        self._runtime = HistogramSeries(f"{serving}:runtime_latency", *labels, "runtime", **_LATENCY)
        self._queuing = HistogramSeries(f"{batching}:queuing_latency", "thread_pool_name", **_QUEUING)
        self._batch_sizes = HistogramSeries(f"{batching}:processed_batch_size", **_SIZES)
        self._batches = Series(f"{batching}:wrapped_run_count", "counter")
        self._queued = Series(f"{ours}:queued_rows", "gauge", "model_name")
        self._texts = Series(f"{ours}:texts", "gauge", "model_name", "version", "state", **paths)
        self._tokens = Series(f"{ours}:text_tokens", "counter", "model_name", "kind")
        self._first_pieces = HistogramSeries(f"{ours}:first_piece_latency", "model_name", **_LATENCY)
        self._loads = Series(f"{saved_model}:load_attempt_count", "counter", "model_path", "status", **paths)
        self._load_times = Series(f"{saved_model}:load_latency", "counter", "model_path", **paths)
        self._warm_ups = HistogramSeries(f"{serving}:model_warmup_latency", "model_path", "status", **_LATENCY, **paths)
        self._warm_up_records = Series(
            f"{serving}:model_warmup_records_read", "counter", "model_path", "status", **paths
        )
        self._series = [value for value in vars(self).values() if isinstance(value, Series)]
        self._process = CollectorRegistry()
        ProcessCollector(registry=self._process)

    def request(
        self,
        model: str,
        version: int | None,
        *,
        api: str,
        entrypoint: Literal["REST", "GRPC"],
        code: StatusCode,
        seconds: float,
    ) -> None:
        """Count a finished request. Only successful requests count in the latency.

        Args:
            model: the model's name; "" if the request named no served model.
            version: the version that answered; None without an answer.
            api: the method, such as "predict"; written "Predict" for gRPC, like in TF Serving.
            entrypoint: the protocol.
            code: the final status.
            seconds: the time from arrival to end.
        """
        status = code.name
        self._requests[model, status] += 1
        if version is not None:
            self._by_version[model, str(version), status] += 1
        if code is StatusCode.OK:
            api = api.capitalize() if entrypoint == "GRPC" else api
            self._latency[model, api, entrypoint].add(seconds * 1e6)

    def batch(self, model: str, *, rows: int, seconds: float, queued: Iterable[float]) -> None:
        """Count a computed batch.

        Args:
            model: the model's name.
            rows: the number of rows.
            seconds: the duration of the computation.
            queued: the waiting time of each request in seconds.
        """
        self._batches[()] += 1
        self._batch_sizes[()].add(rows)
        self._runtime[model, "Predict", "TF1"].add(seconds * 1e6)
        queuing = self._queuing[model,]
        for wait in queued:
            queuing.add(wait * 1e6)

    def queue(self, model: str, rows: int) -> None:
        """Set the number of rows in a model's queue."""
        self._queued[model,] = rows

    def texts(self, model: str, version: int, occupancy: Occupancy) -> None:
        """Set the numbers of running and waiting texts of a version."""
        for state, count in occupancy._asdict().items():
            self._texts[model, str(version), state] = count

    def first_piece(self, model: str, *, seconds: float) -> None:
        """Count the first piece of a text.

        Args:
            model: the model's name.
            seconds: the time since the request's arrival.
        """
        self._first_pieces[model,].add(seconds * 1e6)

    def tokens(self, model: str, usage: Usage) -> None:
        """Count the tokens of a finished text: prompt tokens, cached prompt tokens, and generated tokens."""
        for kind, count in usage._asdict().items():
            self._tokens[model, kind] += count

    def loaded(self, model: str, version: int, *, seconds: float, ok: bool) -> None:
        """Count an attempt to load a version.

        Args:
            model: the model's name.
            version: the version's number; TF Serving writes its folder, which clients should not see.
            seconds: the duration.
            ok: whether the version was loaded.
        """
        path = f"{model}/{version}"
        self._loads[path, "success" if ok else "fail"] += 1
        if ok:
            self._load_times[path,] += round(seconds * 1e6)

    def warmed(
        self, model: str, version: int, *, records: int, seconds: float, code: StatusCode = StatusCode.OK
    ) -> None:
        """Count a warm-up.

        Args:
            model: the model's name.
            version: the version's number.
            records: the number of warm-up requests.
            seconds: the total duration.
            code: the final status.
        """
        path = f"{model}/{version}"
        self._warm_ups[path, code.name].add(seconds * 1e6)
        self._warm_up_records[path, code.name] += records

    def text(self) -> bytes:
        """Return all metrics in Prometheus' format, with memory, CPU time and open files of this process."""
        lines = [line for series in self._series for line in series.lines()]
        return "".join(f"{line}\n" for line in lines).encode() + generate_latest(self._process)


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
