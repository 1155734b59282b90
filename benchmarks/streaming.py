"""Streaming: eight texts that start one after another compared with a batch of eight, and time to first token.

SmolLM2 (135M, published weights, float32) on the built-in server; clients are threads that read events.
"""

import itertools
import json
import statistics
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from urllib.request import Request, urlopen

import grpc
import numpy as np
from tensorflow_serving.apis.predict_pb2 import PredictRequest
from tensorflow_serving.apis.prediction_service_pb2_grpc import PredictionServiceStub

from benchmarks.results import Table
from benchmarks.serving.running import Running, running
from tfattn import published
from tfattn.serving.api.tensors import from_proto, to_proto

MODEL = "smollm2"
BEGINNINGS = ("Once upon a time", "The capital of France", "In the year 2050,", "A good recipe for bread", "The sea")
BEGINNINGS += ("My grandmother used to say", "The history of mathematics", "When it rains,")
NEW, ROUNDS = 64, 3
CLIENTS, ASKED, SHORT = 8, 160, 16


def main() -> list[Table]:
    """Measure both on the same server."""
    with tempfile.TemporaryDirectory() as folder:
        published.export(MODEL, folder=Path(folder))
        (Path(folder) / "models.config").unlink()  # the path of the folder inside a container
        with running(Path(folder), texts=CLIENTS, prefix_mib=0) as server:
            return [compare_with_batch(server), first_tokens(server)]


def compare_with_batch(server: Running) -> Table:
    """Generate texts that start one after another, and the same texts in a batch, in turn."""
    rates: dict[str, list[float]] = {"one batch of 8": [], "8 streams, one after another": []}
    same = []
    for round_number in range(ROUNDS + 1):
        started = time.perf_counter()
        whole, length = batch(server)
        seconds = [length / (time.perf_counter() - started)]
        started = time.perf_counter()
        streams = start_staggered(server)
        seconds.append(sum(stream.length for stream in streams) / (time.perf_counter() - started))
        if round_number:  # the first round is a warm-up
            for times, rate in zip(rates.values(), seconds, strict=True):
                times.append(rate)
            same += [stream.text == text for stream, text in zip(streams, whole, strict=True)]
    one, eight = (statistics.median(times) for times in rates.values())
    return Table(
        title=f"{MODEL}, float32, 8 texts of up to {NEW} tokens: tokens/s, medians of {ROUNDS} rounds",
        columns=["", "tokens/s", "of the batch"],
        rows=[[name, f"{rate:.1f}", f"{rate / one:.2f}"] for name, rate in zip(rates, (one, eight), strict=True)],
        notes=(
            "A stream starts when the one before it has its first token; its time counts from the first start to the "
            f"last end. {sum(same)} of {len(same)} texts are those of the batch.",
        ),
    )


def first_tokens(server: Running) -> Table:
    """Send requests one after another from several clients, and measure the time to first token."""
    numbers, lock = itertools.count(), threading.Lock()
    waits: list[float] = []

    def ask(_: int) -> None:
        while True:
            with lock:
                number = next(numbers)
            if number >= ASKED:
                return
            waits.append(read_stream(server, number, SHORT).first_seconds)

    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(ask, range(CLIENTS)))
    ordered = sorted(1000 * wait for wait in waits)
    cells = [f"{ordered[int(fraction * (len(ordered) - 1))]:.0f}" for fraction in (0.5, 0.95, 0.99)]
    return Table(
        title=f"{MODEL}, milliseconds to the first token",
        columns=["", "median", "p95", "p99"],
        rows=[[f"{CLIENTS} clients, {ASKED} texts of up to {SHORT} tokens", *cells]],
    )


@dataclass(frozen=True)
class Stream:
    """A streamed text, its number of tokens, and the time of the first token."""

    text: str
    length: int
    first_seconds: float


def batch(server: Running) -> tuple[list[str], int]:
    """Generate all texts by one request to the plain signature; return them, and their number of tokens."""
    request = PredictRequest(model_spec={"name": MODEL})
    texts = np.array([text.encode() for text in BEGINNINGS], object)
    seeds = np.arange(len(texts), dtype=np.int32)
    settings = {"text": texts, "seed": seeds, "max_new_tokens": np.full(len(texts), NEW, np.int32)}
    for name, values in settings.items():
        request.inputs[name].CopyFrom(to_proto(values))
    with grpc.insecure_channel(server.grpc) as channel:
        outputs = PredictionServiceStub(channel).Predict(request, timeout=300).outputs
    written = {name: from_proto(name, value) for name, value in outputs.items()}
    return [text.decode() for text in written["text"]], int(written["length"].sum())


def start_staggered(server: Running) -> Sequence[Stream]:
    """Start a stream when the stream before it has started."""
    with ThreadPoolExecutor(len(BEGINNINGS)) as pool:
        streams = []
        for number in range(len(BEGINNINGS)):
            has_begun = threading.Event()
            streams.append(pool.submit(read_stream, server, number, NEW, has_begun))
            has_begun.wait()
        return [stream.result() for stream in streams]


def read_stream(server: Running, number: int, length: int, has_begun: threading.Event | None = None) -> Stream:
    """Request a text and read its stream."""
    asked = {
        "model": MODEL,
        "prompt": BEGINNINGS[number % len(BEGINNINGS)],
        "seed": number,
        "max_tokens": length,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    started, first, text = time.perf_counter(), 0.0, ""
    with urlopen(Request(f"{server.rest}/v1/completions", json.dumps(asked).encode()), timeout=300) as events:
        for line in events:
            if not line.startswith(b"data: {"):
                continue
            event = json.loads(line.removeprefix(b"data: "))
            if not first:
                first = time.perf_counter() - started
                if has_begun is not None:
                    has_begun.set()
            if event["choices"]:
                text += event["choices"][0]["text"]
    return Stream(text, event["usage"]["completion_tokens"], first)
