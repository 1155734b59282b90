"""Load on a server, and the answers that its clients received."""

import base64
import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tensorflow_serving.apis.predict_pb2 import PredictRequest

from benchmarks.serving.client import LOST
from tfattn.serving.api.tensors import strings, to_proto

PROJECT = Path(__file__).resolve().parents[2]
Question = str | Mapping[str, str | float]  # a text, or a row of a table by column
MAX_SECONDS = 3600.0  # of a load that is stopped by `end`


def columns(rows: Sequence[Question]) -> dict[str, np.ndarray]:
    """Convert rows to inputs of a model: an array per input."""
    named = [{"text": row} if isinstance(row, str) else row for row in rows]
    return {name: _column([row[name] for row in named]) for name in named[0]}


def rpc_request(model: str, rows: Sequence[Question]) -> bytes:
    """Serialize a gRPC request for rows."""
    request = PredictRequest()
    request.model_spec.name = model
    for name, values in columns(rows).items():
        request.inputs[name].CopyFrom(to_proto(values))
    return request.SerializeToString()


def rest_request(model: str, rows: Sequence[Question]) -> bytes:
    """Build an HTTP request for rows."""
    body = json.dumps({"instances": list(rows)}).encode()
    head = f"POST /v1/models/{model}:predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def _column(values: Sequence[str | float]) -> np.ndarray:
    is_text = isinstance(values[0], str)
    return strings([value.encode() for value in values]) if is_text else np.array(values, np.float32)


@dataclass(frozen=True, order=True)
class Answer:
    """The outcome of a request; see client.py.

    Attributes:
        due, sent, ended: times in seconds of the monotonic clock.
        outcome: "OK", or the reason of the failure.
    """

    due: float
    sent: float
    ended: float
    outcome: str

    @property
    def latency(self) -> float:
        """The seconds since the request was due, including the delay of a late client."""
        return self.ended - self.due


class Answers(list[Answer]):
    """The answers to all requests of a load."""

    @property
    def outcomes(self) -> dict[str, int]:
        """Count the answers by outcome."""
        return dict(Counter(answer.outcome for answer in self))

    @property
    def failed(self) -> "Answers":
        """Return the failed answers."""
        return Answers(answer for answer in self if answer.outcome != "OK")

    @property
    def good(self) -> "Answers":
        """Return the successful answers."""
        return Answers(answer for answer in self if answer.outcome == "OK")

    @property
    def lost(self) -> "Answers":
        """Return the requests that were never answered."""
        return Answers(answer for answer in self if answer.outcome == LOST)

    def between(self, start: float, end: float) -> "Answers":
        """Return the answers to requests that were due in a time span."""
        return Answers(answer for answer in self if start <= answer.due < end)

    @property
    def rate(self) -> float:
        """Return successful answers per second, without the first second, in which connections are made."""
        first, last = self[0].due + 1, max(answer.ended for answer in self)
        return sum(answer.outcome == "OK" and answer.ended > first for answer in self) / (last - first)

    def percentile(self, fraction: float) -> float:
        """Return a percentile of the latency, in milliseconds."""
        ordered = sorted(answer.latency for answer in self)
        return ordered[min(len(ordered) - 1, int(fraction * len(ordered)))] * 1e3


class Load:
    """A running load client.

    Args:
        address: a URL for REST, host:port for gRPC.
        requests: the requests to send in turn, of `rest_request` or `rpc_request`.
        seconds: the duration.
        clients: the number of clients, each of which sends one request after another; or
        rate: the number of requests per second.
        timeout: the timeout of a request, in seconds.
    """

    def __init__(
        self,
        address: str,
        requests: Sequence[bytes],
        *,
        seconds: float,
        clients: int = 0,
        rate: float = 0,
        timeout: float = 30,
    ):
        job = {
            "address": address,
            "requests": [base64.b64encode(request).decode() for request in requests],
            "seconds": seconds,
            "clients": clients,
            "rate": rate,
            "timeout": timeout,
        }
        command = [sys.executable, "-m", "benchmarks.serving.client"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=PROJECT)
        self._process.stdin.write(json.dumps(job).encode())
        self._process.stdin.close()

    def end(self) -> Answers:
        """Stop the clients, and return their answers."""
        self._process.send_signal(signal.SIGTERM)
        return self.answers()

    def answers(self) -> Answers:
        """Wait for the clients, and return their answers."""
        with self._process:
            return Answers(Answer(*row) for row in json.load(self._process.stdout))
