"""Five times more requests than the server can answer: how soon it refuses, whom it answers, when it is well again."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.serving.load import Answers, Load, percentile, rpc_request
from benchmarks.serving.running import running
from tfattn.serving.models import model_store

FACTOR = 5
ROWS = 16  # a request: so that the load client, too, can keep up
DEADLINE = 1.0
NORMAL_RATE = 0.2  # of capacity, before and after
REFUSED = ("UNAVAILABLE", "RESOURCE_EXHAUSTED")


@dataclass(frozen=True)
class Overload:
    """What clients saw.

    Attributes:
        capacity: requests a second that the server answers.
        before, during, after: of the overload.
    """

    capacity: float
    before: Answers
    during: Answers
    after: Answers

    @property
    def refused(self) -> Answers:
        """What the server said it could not do."""
        return Answers(answer for answer in self.during if answer.outcome in REFUSED)

    @property
    def recovery(self) -> float:
        """Seconds from its end until the last answer that took more than twice as long as any before it."""
        normal = 2 * max(answer.latency for answer in self.before)
        end = max(answer.due for answer in self.during)
        slow = [answer.ended for answer in self.after if answer.latency > normal or answer.outcome != "OK"]
        return max([end, *slow]) - end


def main(model: Path, texts: Sequence[str], *, short: bool) -> None:
    """Prints latencies of refusals and answers, and the recovery."""
    seen = measure(model, texts, seconds=5 if short else 30)
    refusals = [answer.ended - answer.sent for answer in seen.refused]
    good = seen.during.good
    span = seen.during[-1].due - seen.during[0].due
    print(
        f"{model}: {FACTOR} times {seen.capacity:.0f} requests/s of {ROWS} rows for {span:.0f} s,"
        f" deadline {DEADLINE} s\noutcomes {seen.during.outcomes}; answered {len(good) / span:.0f} requests/s\n"
        f"refusals: p50 {percentile(refusals, 0.5) * 1e3:.2f} ms, p99 {percentile(refusals, 0.99) * 1e3:.2f} ms"
        " from being sent\n"
        f"answers: p50 {good.percentile(0.5):.0f} ms, p99 {good.percentile(0.99):.0f} ms\n"
        f"before: p99 {seen.before.percentile(0.99):.1f} ms; back to normal {seen.recovery:.2f} s after the overload"
    )


def measure(model: Path, texts: Sequence[str], *, seconds: float, gentle_seconds: float = 4) -> Overload:
    """Before, during and after an overload of so many seconds."""
    version = model_store.find(str(model))
    name = version.parent.name
    whole = [texts[first : first + ROWS] for first in range(0, len(texts) - ROWS + 1, ROWS)]
    large, small = [rpc_request(name, rows) for rows in whole], [rpc_request(name, [text]) for text in texts]
    with running(version.parent) as server:
        capacity = Load(server.grpc, large, seconds=gentle_seconds, clients=16).answers().rate
        gentle = {"seconds": gentle_seconds, "rate": NORMAL_RATE * capacity, "timeout": DEADLINE}
        before = Load(server.grpc, small, **gentle).answers()
        flood = Load(server.grpc, large, seconds=seconds, rate=FACTOR * capacity, timeout=DEADLINE)
        time.sleep(seconds - 1)
        after = Load(server.grpc, small, **gentle)
        during = flood.answers()
        return Overload(capacity, before, during, after.answers().between(during[-1].due, during[-1].due + 60))
