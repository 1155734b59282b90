"""New versions under steady load: failed requests, and latencies while versions change."""

import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.results import Table
from benchmarks.serving.exports import Export
from benchmarks.serving.load import MAX_SECONDS, Answers, Load, rest_request, rpc_request
from benchmarks.serving.running import Running, running, wait_until

FRACTION = 0.3  # of the maximum rate of the server
QUIET_SECONDS = 3.0  # before, between and after switches
LOOK_SECONDS = 0.2  # between checks for a version change; seldom, so that checks are no load
SETTLED_SECONDS = 0.5  # after a switch, not counted as quiet


@dataclass(frozen=True)
class Switches:
    """The answers that clients received.

    Attributes:
        rate: requests per second, half of them over each protocol.
        answers: all answers.
        windows: the time span of each switch: from the appearance of the new folder to the end of the old version.
    """

    rate: float
    answers: Answers
    windows: list[tuple[float, float]]

    @property
    def during(self) -> Answers:
        """Return the answers to requests that were due during switches."""
        return Answers(answer for start, end in self.windows for answer in self.answers.between(start, end))

    @property
    def quiet(self) -> Answers:
        """Return the answers to requests that were due between switches."""
        ends = [self.answers[0].due, *(end for _, end in self.windows)]
        starts = [*(start for start, _ in self.windows), self.answers[-1].due]
        spans = zip(ends, starts, strict=True)
        return Answers(answer for end, start in spans for answer in self.answers.between(end + SETTLED_SECONDS, start))


def main(model: Path, texts: Sequence[str], *, short: bool) -> Table:
    """Return the failures and latencies of 20 switches."""
    seen = measure(model, texts, switches=4 if short else 20)
    lengths = [end - start for start, end in seen.windows]
    rows = [
        [name, f"{len(answers):,}", *(f"{answers.percentile(part):.2f}" for part in (0.5, 0.99))]
        for name, answers in (("between switches", seen.quiet), ("during switches", seen.during))
    ]
    load = f"{seen.rate:.0f} requests/s ({FRACTION:.0%} of capacity), half REST, half gRPC"
    failed = f"{len(seen.answers.failed)} {seen.answers.failed.outcomes or ''}".rstrip()
    return Table(
        title=f"{model.name}: {len(lengths)} switches of {min(lengths):.1f} to {max(lengths):.1f} s each, under {load}",
        columns=["", "requests", "p50 ms", "p99 ms"],
        rows=rows,
        notes=[f"Of {len(seen.answers):,} requests, failed: {failed}."],
    )


def measure(model: Path, texts: Sequence[str], *, switches: int) -> Switches:
    """Switch versions repeatedly; every second time the folder of the old version is removed, too."""
    with tempfile.TemporaryDirectory() as scratch:
        export = Export.copied(model, Path(scratch))
        over_rpc, over_rest = ([make(export.name, [text]) for text in texts] for make in (rpc_request, rest_request))
        with running(export.folder) as server:
            rate = FRACTION * Load(server.grpc, over_rpc, seconds=4, clients=32).answers().rate
            loads = [
                Load(address, requests, seconds=MAX_SECONDS, rate=rate / 2)
                for address, requests in ((server.rest, over_rest), (server.grpc, over_rpc))
            ]
            time.sleep(QUIET_SECONDS)
            windows = []
            for number in range(switches):
                windows.append(switch(server, export, remove=number % 2 == 1))
                time.sleep(QUIET_SECONDS)
            answers = Answers(sorted(answer for load in loads for answer in load.end()))
    return Switches(rate, answers, windows)


def switch(server: Running, export: Export, *, remove: bool) -> tuple[float, float]:
    """Add a version and wait until the version before has ended; return the times of both."""
    start = time.monotonic()
    new = export.add()
    old = new - 1
    wait_until(lambda: server.versions(export.name).get(new) == "AVAILABLE", every=LOOK_SECONDS)
    if remove:
        export.remove(old)
    wait_until(lambda: server.versions(export.name).get(old, "END") == "END", every=LOOK_SECONDS)
    return start, time.monotonic()
