"""The server under test, and comparisons of its responses: JSON by value, messages by parts."""

import contextlib
import http.client
import json
import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import grpc
import numpy as np
from google.protobuf import text_format
from google.protobuf.message import Message
from tensorflow_serving.apis.get_model_status_pb2 import GetModelStatusRequest, ModelVersionStatus
from tensorflow_serving.apis.model_service_pb2_grpc import ModelServiceStub
from tensorflow_serving.apis.prediction_service_pb2_grpc import PredictionServiceStub
from tensorflow_serving.config.model_server_config_pb2 import ModelServerConfig

from tfattn.serving.conformance.check import Mismatch, Skipped

SHOWN = 300  # characters of a response in a report
ANSWER_SECONDS = 60.0  # the time limit of a request
PAUSE = 0.05  # seconds between polls
_ANY_SIZE = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]


@dataclass(frozen=True)
class Answer:
    """An HTTP response."""

    status: int
    headers: Mapping[str, str]  # names in lower case
    body: bytes

    def __str__(self) -> str:
        text = " ".join(self.body.decode("utf-8", "replace").split())
        return f"{self.status} {text if len(text) <= SHOWN else text[:SHOWN] + '...'}".strip()

    @property
    def json(self) -> Any:
        """The parsed body, with NaN and Infinity as numbers."""
        try:
            return json.loads(self.body)
        except ValueError:
            raise Mismatch("a body of JSON", str(self)) from None


@dataclass(frozen=True)
class Refusal:
    """The code and message of a failed gRPC call."""

    code: grpc.StatusCode
    message: str

    def __str__(self) -> str:
        return f"{self.code.name} {self.message[:SHOWN]}"


class Server:
    """A server that serves the fixture models.

    Args:
        rest: the REST address, such as http://127.0.0.1:8501; None without REST.
        grpc: the gRPC address, such as 127.0.0.1:8500; None without gRPC.
        models: the folder of the fixture models; None if it is not accessible.
        patience: seconds to wait for a change of the served versions.
    """

    def __init__(self, *, rest: str | None, grpc: str | None, models: Path | None, patience: float = 60.0):
        self._rest, self._grpc, self._models = rest, grpc, models
        self.patience = patience

    @property
    def rest_url(self) -> str:
        """The address for REST."""
        return self._given(self._rest, "--rest URL")

    @property
    def grpc_address(self) -> str:
        """The address for gRPC."""
        return self._given(self._grpc, "--grpc ADDRESS")

    @property
    def models(self) -> Path:
        """The folder of models."""
        return self._given(self._models, "--models DIR, the folder that the server reads")

    def ask(self, method: str, path: str, body: bytes | str = b"", **headers: str) -> Answer:
        """Send an HTTP request and read its answer; underscores in header names become hyphens."""
        with self.sent(method, path, body, **headers) as connection:
            return received(connection)

    def post(self, path: str, body: Any, **headers: str) -> Answer:
        """Post a body: text and bytes as they are, anything else as JSON."""
        return self.ask("POST", path, body if isinstance(body, str | bytes) else json.dumps(body), **headers)

    def predict(self, body: Any, model: str = "half_plus_two") -> Answer:
        """Post a body to a model's newest version."""
        return self.post(f"/v1/models/{model}:predict", body)

    def types(self, signature: str, **body: Any) -> Answer:
        """Ask a signature of the model `types`."""
        return self.predict({"signature_name": signature, **body}, "types")

    @contextlib.contextmanager
    def sent(
        self, method: str, path: str, body: bytes | str = b"", **headers: str
    ) -> Iterator[http.client.HTTPConnection]:
        """Send an HTTP request; `received` reads the answer from the connection that it yields."""
        url = urlsplit(self.rest_url)
        kind = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
        connection = kind(url.hostname, url.port, timeout=ANSWER_SECONDS)
        body = body.encode() if isinstance(body, str) else body
        try:
            with broken_is_wrong():
                names = {name.replace("_", "-"): value for name, value in headers.items()}
                connection.request(method, url.path.rstrip("/") + path, body, names)
            yield connection
        finally:
            connection.close()

    @cached_property
    def channel(self) -> grpc.Channel:
        """The channel for gRPC."""
        return grpc.insecure_channel(self.grpc_address, _ANY_SIZE)

    @cached_property
    def prediction(self) -> PredictionServiceStub:
        """The PredictionService."""
        return PredictionServiceStub(self.channel)

    @cached_property
    def model_service(self) -> ModelServiceStub:
        """The ModelService."""
        return ModelServiceStub(self.channel)

    def call(self, method: Callable, request: Message) -> Message:
        """Call a method that must succeed."""
        try:
            return method(request, timeout=ANSWER_SECONDS)
        except grpc.RpcError as error:
            raise Mismatch("OK", str(Refusal(error.code(), error.details() or ""))) from None

    def states(self, model: str) -> dict[int, str]:
        """Return the state of each version of a model by GetModelStatus."""
        request = GetModelStatusRequest()
        request.model_spec.name = model
        answer = self.call(self.model_service.GetModelStatus, request)
        return {one.version: ModelVersionStatus.State.Name(one.state) for one in answer.model_version_status}

    def available(self, model: str) -> set[int]:
        """Return the available versions of a model."""
        return {number for number, state in self.states(model).items() if state == "AVAILABLE"}

    def wait_until(self, is_so: Callable[[], bool], expected: str, received: Callable[[], object]) -> None:
        """Wait until a condition is true, for at most `patience` seconds."""
        until = time.monotonic() + self.patience
        while not is_so():
            if time.monotonic() > until:
                raise Mismatch(f"{expected} within {self.patience:g} s", str(received()))
            time.sleep(PAUSE)

    def config(self) -> ModelServerConfig:
        """Read the models.config of the server."""
        path = self.models / "models.config"
        if not path.is_file():
            raise Skipped(f"needs {path}, which --write-models writes")
        return text_format.Parse(path.read_text(encoding="utf-8"), ModelServerConfig())

    def close(self) -> None:
        """Close the channel."""
        if self._grpc is not None:
            self.channel.close()

    @staticmethod
    def _given(value: Any, option: str) -> Any:
        if value is None:
            raise Skipped(f"needs {option}")
        return value


@contextlib.contextmanager
def broken_is_wrong() -> Iterator[None]:
    """Convert a broken connection, or a response that is not HTTP, into a mismatch."""
    try:
        yield
    except (OSError, http.client.HTTPException) as error:
        raise Mismatch("an answer", f"a broken connection ({error!r})") from None


def received(connection: http.client.HTTPConnection) -> Answer:
    """Read the response to a request."""
    with broken_is_wrong():
        response = connection.getresponse()
        headers = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, headers, response.read())


def same(expected: Any, received: Any) -> bool:
    """Return whether two JSON values are equal: 12 and 12.0 are, 1 and true are not."""
    if isinstance(expected, dict) and isinstance(received, dict):
        return expected.keys() == received.keys() and all(same(expected[key], received[key]) for key in expected)
    if isinstance(expected, list) and isinstance(received, list):
        return len(expected) == len(received) and all(map(same, expected, received))
    if _is_number(expected) and _is_number(received):
        return expected == received or (math.isnan(expected) and math.isnan(received))
    return type(expected) is type(received) and expected == received


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def answered(answer: Answer, expected: Any) -> None:
    """Expect status 200 and a JSON value."""
    if answer.status != 200 or not same(expected, answer.json):
        raise Mismatch(f"200 {expected}", str(answer))
    is_json(answer)


def same_float32(given: list[float], answer: Answer) -> list[float]:
    """Return the expected predictions after a conversion to float32: the received value if it is equal in float32."""
    received = answer.json.get("predictions") if isinstance(answer.json, dict) else None
    if not isinstance(received, list) or len(received) != len(given) or not all(map(_is_number, received)):
        return given
    with np.errstate(over="ignore", under="ignore"):
        pairs = zip(np.array(given, np.float32), np.array(received, np.float32), given, received, strict=True)
    return [came if meant == said else sent for meant, said, sent, came in pairs]


def is_json(answer: Answer) -> None:
    """Expect the content type of JSON."""
    kind = answer.headers.get("content-type", "none")
    if kind.split(";")[0] != "application/json":
        raise Mismatch("Content-Type: application/json", f"Content-Type: {kind}")


def refused(answer: Answer, status: int, *parts: str) -> None:
    """Expect a status, and {"error": a message with these parts}."""
    shown = " ... ".join(parts)
    if answer.status != status:
        raise Mismatch(f"{status} {shown}", str(answer))
    body = answer.json
    message = body.get("error") if isinstance(body, dict) and len(body) == 1 else None
    if not isinstance(message, str) or not message or not all(part in message for part in parts):
        raise Mismatch(f'{status} {{"error": "{shown}"}}', str(answer))
    is_json(answer)


def rpc_refused(server: Server, method: Callable, request: Message, code: grpc.StatusCode, *parts: str) -> Refusal:
    """Expect that a call fails with this code and a message with these parts."""
    expected = " ".join((code.name, " ... ".join(parts))).strip()
    try:
        answer = method(request, timeout=ANSWER_SECONDS)
    except grpc.RpcError as error:
        refusal = Refusal(error.code(), error.details() or "")
    else:
        raise Mismatch(expected, f"OK {answer}")
    if refusal.code != code or not all(part in refusal.message for part in parts):
        raise Mismatch(expected, str(refusal))
    return refusal


def equal(expected: Any, received: Any, of: str) -> None:
    """Expect equal values; `of` names them."""
    if expected != received:
        raise Mismatch(f"{of} {expected}", str(received))
