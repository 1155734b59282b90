"""Requests per second, one row each: the server, a plain one, and the model without a server, in turn."""

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.serving.load import PROJECT, Load, Question, rest_request, rpc_request
from benchmarks.serving.running import Running, running
from tfattn.serving.models import model_store

CLIENTS = (1, 8, 32)
ALONE = ("model alone", 0)


@dataclass(frozen=True)
class Figures:
    """One way to be answered, for a while.

    Attributes:
        rate: rows a second.
        p50, p99: latencies that half and 99 of 100 requests keep within, in milliseconds.
        front, model: processor time of a request, in the process that answers and in that which computes, in
            milliseconds; unlike the others, not much longer on a busy machine.
        failed: how many requests were not answered.
    """

    rate: float
    p50: float = 0.0
    p99: float = 0.0
    front: float = 0.0
    model: float = 0.0
    failed: int = 0


def main(model: Path, rows: Sequence[Question], *, short: bool) -> None:
    """Prints the medians of the rounds, and of the ratios within each round."""
    seconds, rounds = (3, 1) if short else (4, 3)
    measured = [measure(model, rows, seconds=seconds) for _ in range(rounds)]
    print(f"{model}: {seconds} s for each way, median of {rounds} rounds, clients on the same machine")
    print(f"{'':12} clients  requests/s     p50     p99   front   model ms  failed  of model alone  of plain")
    for way in measured[0]:
        found = [figures[way] for figures in measured]
        middle = {
            name: median(getattr(one, name) for one in found) for name in ("rate", "p50", "p99", "front", "model")
        }
        to_alone = median(figures[way].rate / figures[ALONE].rate for figures in measured)
        to_plain = median(figures[way].rate / figures["plain gRPC", way[1] or 8].rate for figures in measured)
        print(
            f"{way[0]:12} {way[1]:7} {middle['rate']:11.0f} {middle['p50']:7.2f} {middle['p99']:7.2f}"
            f" {middle['front']:7.3f} {middle['model']:10.3f} {sum(one.failed for one in found):7}"
            f" {to_alone:15.2f} {to_plain:9.2f}"
        )
    helped = median(figures["gRPC", 32].rate / figures["gRPC", 1].rate for figures in measured)
    print(f"gRPC, 32 clients to 1 client: {helped:.2f}")


def measure(model: Path, rows: Sequence[Question], *, seconds: float) -> dict[tuple[str, int], Figures]:
    """One round: figures by way and number of clients."""
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
    """The plain server for as long as the block runs; its address."""
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
