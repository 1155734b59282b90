"""Metrics in Prometheus' format have TF Serving's names and a bounded number of series."""

import re

import pytest
from grpc import StatusCode
from prometheus_client.parser import text_string_to_metric_families

from tfattn.serving.generation.output import Usage
from tfattn.serving.generation.request import Occupancy
from tfattn.serving.monitoring.metrics import HistogramSeries, Metrics, Series

STATES = Occupancy._fields


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


def answered(metrics, model="reports", version=3, **facts):
    facts = {"api": "predict", "entrypoint": "REST", "code": StatusCode.OK, "seconds": 0.002} | facts
    metrics.request(model, version, **facts)


def samples(metrics) -> dict[tuple, float]:
    """Return all samples by name and labels from Prometheus' own parser, which appends `_total`."""
    return {
        (sample.name.removesuffix("_total"), *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(metrics.text().decode())
        for sample in family.samples
    }


def test_request_counts_are_formatted_like_tf_serving(metrics):
    answered(metrics)
    answered(metrics)
    answered(metrics, code=StatusCode.INVALID_ARGUMENT)
    lines = metrics.text().decode().splitlines()
    assert "# TYPE :tensorflow:serving:request_count counter" in lines
    assert ':tensorflow:serving:request_count{model_name="reports",status="OK"} 2' in lines
    assert ':tensorflow:serving:request_count{model_name="reports",status="INVALID_ARGUMENT"} 1' in lines


def test_latency_has_tf_servings_labels_and_limits(metrics):
    answered(metrics, seconds=20e-6)
    answered(metrics, seconds=25e-6, entrypoint="GRPC")
    lines = metrics.text().decode().splitlines()
    name = ":tensorflow:serving:request_latency"
    rest = 'model_name="reports",API="predict",entrypoint="REST"'
    buckets = [line for line in lines if line.startswith(f"{name}_bucket{{{rest}")]
    assert len(buckets) == 34
    assert buckets[:3] == [
        f'{name}_bucket{{{rest},le="{limit}"}} {n}' for limit, n in (("10", 0), ("18", 0), ("32.4", 1))
    ]
    assert buckets[-1] == f'{name}_bucket{{{rest},le="+Inf"}} 1'
    assert f'{name}_count{{model_name="reports",API="Predict",entrypoint="GRPC"}} 1' in lines
    assert samples(metrics)[f"{name}_sum", ("API", "predict"), ("entrypoint", "REST"), ("model_name", "reports")] == 20


def test_texts_are_counted_by_version_and_tokens_by_kind(metrics):
    metrics.texts("author", 3, Occupancy(2, 1))
    metrics.texts("author", 3, Occupancy(1, 0))
    metrics.tokens("author", Usage(prompt=5, cached=3, written=2))
    metrics.tokens("author", Usage(prompt=5, cached=3, written=4).without_prompt())
    metrics.first_piece("author", seconds=0.02)
    found, model = samples(metrics), ("model_name", "author")
    states = {state: found[":tfattn:serving:texts", model, ("state", state), ("version", "3")] for state in STATES}
    assert states == {"writing": 1, "waiting": 0}
    tokens = {kind: found[":tfattn:serving:text_tokens", ("kind", kind), model] for kind in Usage._fields}
    assert tokens == {"prompt": 5, "cached": 3, "written": 6}
    assert found[":tfattn:serving:first_piece_latency_sum", model] == 20_000


def test_the_latency_of_a_refused_request_does_not_count(metrics):
    answered(metrics, code=StatusCode.UNAVAILABLE)
    assert "request_latency" not in metrics.text().decode()


def test_batches_their_sizes_and_waiting_times(metrics):
    metrics.batch("reports", rows=5, seconds=0.010, queued=[0.001, 0.002])
    metrics.queue("reports", 7)
    metrics.queue("reports", 4)
    found = samples(metrics)
    session = ":tensorflow:serving:batching_session"
    assert found[f"{session}:wrapped_run_count",] == 1
    assert found[f"{session}:processed_batch_size_sum",] == 5
    assert found[f"{session}:queuing_latency_count", ("thread_pool_name", "reports")] == 2
    assert found[f"{session}:queuing_latency_sum", ("thread_pool_name", "reports")] == pytest.approx(3000)
    runtime = (("API", "Predict"), ("model_name", "reports"), ("runtime", "TF1"))
    assert found[":tensorflow:serving:runtime_latency_sum", *runtime] == pytest.approx(10_000)
    assert found[":tfattn:serving:queued_rows", ("model_name", "reports")] == 4


def test_loads_and_warm_ups(metrics):
    metrics.loaded("reports", 3, seconds=1.5, ok=True)
    metrics.loaded("reports", 4, seconds=0.5, ok=False)
    metrics.warmed("reports", 3, records=8, seconds=0.25)
    found = samples(metrics)
    good, bad = ("model_path", "reports/3"), ("model_path", "reports/4")
    assert found[":tensorflow:cc:saved_model:load_attempt_count", good, ("status", "success")] == 1
    assert found[":tensorflow:cc:saved_model:load_attempt_count", bad, ("status", "fail")] == 1
    assert found[":tensorflow:cc:saved_model:load_latency", good] == 1_500_000
    assert (":tensorflow:cc:saved_model:load_latency", bad) not in found
    assert found[":tensorflow:serving:model_warmup_latency_sum", good, ("status", "OK")] == 250_000
    assert found[":tensorflow:serving:model_warmup_records_read", good, ("status", "OK")] == 8


def test_the_process_itself_is_measured(metrics):
    assert samples(metrics)["process_resident_memory_bytes",] > 1e6


def test_names_and_values_are_escaped_for_prometheus(metrics):
    answered(metrics, model='a "b"\\\nc')
    assert (":tensorflow:serving:request_count", ("model_name", 'a "b"\\\nc'), ("status", "OK")) in samples(metrics)
    for line in metrics.text().decode().splitlines():
        assert re.match(r"# |[a-zA-Z_:][a-zA-Z0-9_:]*(\{.*\})? [-+0-9.einfa]+$", line), line


def test_series_are_bounded_over_a_thousand_versions(metrics):
    def page():
        return metrics.text().decode().count("model_path")

    for version in range(100):
        metrics.loaded("reports", version, seconds=1, ok=True)
        metrics.warmed("reports", version, records=1, seconds=1)
        answered(metrics, version=version)
        if version == 50:
            before = page()
    assert page() == before
    assert '"reports/99"' in metrics.text().decode()
    assert '"reports/9"' not in metrics.text().decode()
    assert (":tensorflow:serving:request_count", ("model_name", "reports"), ("status", "OK")) in samples(metrics)


def test_a_series_evicts_its_oldest_value():
    series = Series(":a", "gauge", "n", max_size=2)
    for name in "xyxz":
        series[name,] += 1
    assert dict(series) == {("y",): 1, ("z",): 1}


def test_a_value_at_a_limit_is_counted_under_it():
    histograms = HistogramSeries(":a", first=1, growth=2, count=3)
    for value in (1, 2, 4, 5):
        histograms[()].add(value)
    assert histograms[()].counts == [1, 1, 1, 1]
