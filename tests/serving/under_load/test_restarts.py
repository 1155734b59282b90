"""SIGTERM and a new start under load: no request that the server has accepted is left unanswered.

Who has accepted what is the server's word: it logs every request. gRPC's library cancels what arrives while the news
of the end is on its way, before the server hears of it: such a request was not accepted, and is counted apart.
"""

import json
import socket
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from benchmarks.serving.client import LOST
from benchmarks.serving.load import MAX_SECONDS, Answers, Load, rest_request, rpc_request
from benchmarks.serving.running import Running, wait_until

pytestmark = pytest.mark.alone

CLIENTS = 4  # of each protocol
LOADED = 200  # requests that a server has answered before it is told to end
REQUESTS = ":tensorflow:serving:request_count"
UNANSWERED = (LOST, "CANCELLED", "DEADLINE_EXCEEDED")


@dataclass
class Restarts:
    """What servers and clients saw.

    Attributes:
        accepted: how many requests the servers say they have accepted, by protocol.
        answers: all that clients sent, by protocol.
        statuses: the exit status of each server.
        endings: the last that each had to say.
    """

    accepted: Counter = field(default_factory=Counter)
    answers: dict[str, Answers] = field(default_factory=dict)
    statuses: list[int] = field(default_factory=list)
    endings: list[list[str]] = field(default_factory=list)

    @property
    def lost(self) -> dict[str, int]:
        """How many requests were accepted and not answered, by protocol."""
        return {
            protocol: self.accepted[protocol] - sum(answer.outcome not in UNANSWERED for answer in answers)
            for protocol, answers in self.answers.items()
        }


@pytest.mark.parametrize("times", [1, pytest.param(20, marks=pytest.mark.slow)])
def test_a_restart_loses_no_accepted_request(served, texts, times):
    seen = restarted(served / "reports", texts, times=times)
    assert seen.lost == {"REST": 0, "GRPC": 0}
    assert not seen.answers["REST"].lost
    assert seen.statuses == [0] * (times + 1)
    assert seen.endings == [["draining", "version_unloaded", "ended"]] * (times + 1)


def restarted(model: Path, texts: Sequence[str], *, times: int) -> Restarts:
    """Starts and ends a server so often on the same ports; clients keep asking all the time."""
    ports = {"rest_port": _free_port(), "grpc_port": _free_port()}
    over_rpc, over_rest = ([make(model.name, [text]) for text in texts] for make in (rpc_request, rest_request))
    seen, loads = Restarts(), {}
    for number in range(times + 1):
        server = Running(model, log_requests=True, **ports)
        if not loads:
            addresses = {"REST": (server.rest, over_rest), "GRPC": (server.grpc, over_rpc)}
            loads = {
                # No request is given up: how long a server takes to start again depends on the machine.
                protocol: Load(*address, seconds=MAX_SECONDS, clients=CLIENTS, timeout=MAX_SECONDS)
                for protocol, address in addresses.items()
            }
        wait_until(lambda server=server: server.figure(REQUESTS) >= LOADED)
        if number == times:
            seen.answers = {protocol: load.end() for protocol, load in loads.items()}
        seen.statuses.append(server.end())
        lines = _lines(server.log)
        seen.accepted += Counter(line["entrypoint"] for line in lines if line["event"] == "request")
        seen.endings.append([line["event"] for line in lines if line["event"] != "request"][-3:])
        server.log.unlink()
    return seen


def _lines(log: Path) -> list[dict]:
    lines = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
    assert not any("lost_lines" in line for line in lines), "the log is not whole"
    return lines


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]
