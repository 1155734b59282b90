"""SIGTERM and a new start under load: is a request that the server has accepted ever left unanswered?

Who has accepted what is the server's word: it logs every request. gRPC's library cancels what arrives while the news
of the end is on its way, before the server hears of it: such a request was not accepted, and is counted apart.
"""

import json
import socket
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.serving.client import LOST
from benchmarks.serving.load import FOR_EVER, Answers, Load, rest_request, rpc_request
from benchmarks.serving.running import Running
from tfattn.serving.models import model_store

CLIENTS = 4  # of each protocol
LOADED_SECONDS = 1.5
UNANSWERED = (LOST, "CANCELLED", "DEADLINE_EXCEEDED")


@dataclass
class Restarts:
    """What servers and clients saw.

    Attributes:
        accepted: how many requests the servers say they have accepted, by protocol.
        answers: all that clients sent, by protocol.
        statuses: the exit status of each server.
        seconds: how long each took to end.
    """

    accepted: Counter = field(default_factory=Counter)
    answers: dict[str, Answers] = field(default_factory=dict)
    statuses: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    @property
    def lost(self) -> dict[str, int]:
        """How many requests were accepted and not answered, by protocol."""
        return {
            protocol: self.accepted[protocol] - sum(answer.outcome not in UNANSWERED for answer in answers)
            for protocol, answers in self.answers.items()
        }


def main(model: Path, texts: Sequence[str], *, short: bool) -> None:
    """Prints what became of the requests of 20 restarts."""
    seen = measure(model, texts, restarts=3 if short else 20)
    print(f"{model}: {len(seen.seconds)} restarts under {CLIENTS} REST and {CLIENTS} gRPC clients that reconnect")
    for protocol, answers in seen.answers.items():
        print(
            f"{protocol}: accepted {seen.accepted[protocol]}, of these not answered {seen.lost[protocol]};"
            f" what clients saw: {answers.outcomes}"
        )
    print(f"exit statuses {sorted(set(seen.statuses))}, SIGTERM to exit {max(seen.seconds):.2f} s at most")


def measure(model: Path, texts: Sequence[str], *, restarts: int) -> Restarts:
    """Starts and ends a server so often on the same ports; clients keep asking all the time."""
    version = model_store.find(str(model))
    name = version.parent.name
    ports = {"rest_port": _free_port(), "grpc_port": _free_port()}
    over_rpc, over_rest = ([make(name, [text]) for text in texts] for make in (rpc_request, rest_request))
    seen, loads = Restarts(), {}
    for number in range(restarts + 1):
        server = Running(version.parent, log_requests=True, **ports)
        if not loads:
            addresses = {"REST": (server.rest, over_rest), "GRPC": (server.grpc, over_rpc)}
            loads = {
                protocol: Load(*address, seconds=FOR_EVER, clients=CLIENTS) for protocol, address in addresses.items()
            }
        time.sleep(LOADED_SECONDS)
        if number == restarts:
            seen.answers = {protocol: load.end() for protocol, load in loads.items()}
        start = time.monotonic()
        seen.statuses.append(server.end())
        if number < restarts:
            seen.seconds.append(time.monotonic() - start)
        seen.accepted += _accepted(server.log)
        server.log.unlink()
    return seen


def _accepted(log: Path) -> Counter:
    lines = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
    assert not any("lost_lines" in line for line in lines), "the log is not whole"
    return Counter(line["entrypoint"] for line in lines if line["event"] == "request")


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]
