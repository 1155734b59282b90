"""SIGTERM and a new start under load: is a request that the server has accepted ever left unanswered?"""

import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.serving.load import FOR_EVER, Answers, Load, rest_request, rpc_request
from benchmarks.serving.running import Running
from tfattn.serving import model_store

CLIENTS = 4  # of each protocol
LOADED_SECONDS = 1.5


@dataclass(frozen=True)
class Restarts:
    """What clients saw.

    Attributes:
        answers: all of them.
        statuses: the exit status of each server.
        seconds: how long each took to end.
    """

    answers: Answers
    statuses: list[int]
    seconds: list[float]


def main(model: Path, texts: Sequence[str], *, short: bool) -> None:
    """Prints what became of the requests of 20 restarts."""
    seen = measure(model, texts, restarts=3 if short else 20)
    print(
        f"{model}: {len(seen.statuses)} restarts under {CLIENTS} REST and {CLIENTS} gRPC clients that reconnect\n"
        f"requests {len(seen.answers)}, accepted and not answered {len(seen.answers.lost)}; {seen.answers.outcomes}\n"
        f"exit statuses {sorted(set(seen.statuses))}, SIGTERM to exit {max(seen.seconds):.2f} s at most"
    )


def measure(model: Path, texts: Sequence[str], *, restarts: int) -> Restarts:
    """Starts and ends a server so often on the same ports; clients keep asking all the time."""
    version = model_store.find(str(model))
    name = version.parent.name
    ports = {"rest_port": _free_port(), "grpc_port": _free_port()}
    over_rpc, over_rest = ([make(name, [text]) for text in texts] for make in (rpc_request, rest_request))
    statuses, seconds, loads = [], [], []
    for number in range(restarts + 1):
        server = Running(version.parent, **ports)
        if not loads:
            loads = [
                Load(address, requests, seconds=FOR_EVER, clients=CLIENTS)
                for address, requests in ((server.rest, over_rest), (server.grpc, over_rpc))
            ]
        time.sleep(LOADED_SECONDS)
        if number == restarts:
            answers = Answers(sorted(answer for load in loads for answer in load.end()))
        start = time.monotonic()
        statuses.append(server.end())
        seconds.append(time.monotonic() - start)
        server.log.unlink()
    return Restarts(answers, statuses[:-1], seconds[:-1])


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]
