"""Requests per second of one row: the built-in server, a plain server, and the model without a server, in turn."""

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.results import Table
from benchmarks.serving.load import PROJECT, Load, Question, rest_request, rpc_request
from benchmarks.serving.running import Running, running
from tfattn.serving.models import model_store

CLIENTS = (1, 8, 32)
ALONE = ("model alone", 0)
COLUMNS = ["", "clients", "requests/s", "p50 ms", "p99 ms", "front ms", "model ms", "failed", "of alone", "of plain"]


@dataclass(frozen=True)
class Figures:
    """The results of a server for a time.

    Attributes:
        rate: rows per second.
        p50, p99: the 50th and 99th percentile of the latency, in milliseconds.
        front, model: CPU time per request in the front process and in the model process, in milliseconds; nearly
            independent of the load of the machine.
        failed: the number of failed requests.
    """

    rate: float
    p50: float = 0.0
    p99: float = 0.0
    front: float = 0.0
    model: float = 0.0
    failed: int = 0


def main(model: Path, rows: Sequence[Question], *, short: bool) -> Table:
    """Return the medians over the rounds, and over the ratios of each round."""
    seconds, rounds = (3, 1) if short else (4, 3)
    measured = [measure(model, rows, seconds=seconds) for _ in range(rounds)]
    lines = []
    for way in measured[0]:
        found = [figures[way] for figures in measured]
        rate = median(figures.rate for figures in found)
        times = [median(getattr(figures, name) for figures in found) for name in ("p50", "p99", "front", "model")]
        to_alone = median(figures[way].rate / figures[ALONE].rate for figures in measured)
        to_plain = median(figures[way].rate / figures["plain gRPC", way[1] or 8].rate for figures in measured)
        failed = sum(figures.failed for figures in found)
        ratios = [f"{to_alone:.2f}", f"{to_plain:.2f}"]
        lines.append([way[0], str(way[1]), f"{rate:,.0f}", *(f"{time:.2f}" for time in times), str(failed), *ratios])
    helped = median(figures["gRPC", 32].rate / figures["gRPC", 1].rate for figures in measured)
    return Table(
        title=f"{model.name}: {seconds} s for each way, medians of {rounds} rounds, clients on the same machine",
        columns=COLUMNS,
        rows=lines,
        notes=[f"gRPC answers {helped:.2f} times as many requests of 32 clients as of one."],
    )


def measure(model: Path, rows: Sequence[Question], *, seconds: float) -> dict[tuple[str, int], Figures]:
    """Run a round; return the results by candidate and number of clients."""
    version = model_store.find(str(model))
    name = version.parent.name
    over_rpc, over_rest = ([make(name, [row]) for row in rows] for make in (rpc_request, rest_request))
    found = {ALONE: Figures(_alone(version, rows, seconds))}
    with _plain(version) as plain, running(version.parent) as server:
        for clients in CLIENTS:
            load = {"seconds": seconds, "clients": clients}
            found["plain gRPC", clients] = _figures(None, Load(plain, over_rpc, **load))
            found["gRPC", clients] = _figures(server, Load(server.grpc, over_rpc, **load))
            found["REST", clients] = _figures(server, Load(server.rest, over_rest, **load))
    return found


def _figures(server: Running | None, load: Load) -> Figures:
    before = server.processor_seconds if server else (0.0, 0.0)
    answers = load.answers()
    after = server.processor_seconds if server else (0.0, 0.0)
    front, computing = ((end - start) / len(answers) * 1e3 for start, end in zip(before, after, strict=True))
    return Figures(
        rate=answers.rate,
        p50=answers.percentile(0.5),
        p99=answers.percentile(0.99),
        front=front,
        model=computing,
        failed=len(answers.failed),
    )


@contextlib.contextmanager
def _plain(version: Path) -> Iterator[str]:
    """Run the plain server during the block; yield its address."""
    command = [sys.executable, "-m", "benchmarks.serving.plain", version]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=PROJECT) as process:
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def _alone(version: Path, rows: Sequence[Question], seconds: float) -> float:
    command = [sys.executable, "-m", "benchmarks.serving.alone", version, str(seconds)]
    done = subprocess.run(
        command, input=json.dumps(list(rows)), text=True, capture_output=True, check=True, cwd=PROJECT
    )
    return float(done.stdout)
