"""The server under test, from outside: HTTP requests, gRPC calls, and the folder that it reads its models from."""

import contextlib
import http.client
import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import grpc
from google.protobuf import text_format
from google.protobuf.message import Message
from tensorflow_serving.apis.get_model_status_pb2 import GetModelStatusRequest, ModelVersionStatus
from tensorflow_serving.apis.model_service_pb2_grpc import ModelServiceStub
from tensorflow_serving.apis.prediction_service_pb2_grpc import PredictionServiceStub
from tensorflow_serving.config.model_server_config_pb2 import ModelServerConfig

from tfattn.serving.conformance.check import Mismatch, Skipped

SHOWN = 300  # characters of an answer that a report quotes
ANSWER_SECONDS = 60.0  # in which any request should be answered
PAUSE = 0.05  # between looks at something that is waited for, in seconds
_ANY_SIZE = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]


@dataclass(frozen=True)
class Answer:
    """The answer to an HTTP request."""

    status: int
    headers: Mapping[str, str]  # names in lower case
    body: bytes

    def __str__(self) -> str:
        text = " ".join(self.body.decode("utf-8", "replace").split())
        return f"{self.status} {text if len(text) <= SHOWN else text[:SHOWN] + '...'}".strip()

    @property
    def json(self) -> Any:
        """The body's value; NaN and Infinity are numbers."""
        try:
            return json.loads(self.body)
        except ValueError:
            raise Mismatch("a body of JSON", str(self)) from None


@dataclass(frozen=True)
class Refusal:
    """The code and message with which a gRPC call was refused."""

    code: grpc.StatusCode
    message: str

    def __str__(self) -> str:
        return f"{self.code.name} {self.message[:SHOWN]}"


class Server:
    """A server that serves the fixture models.

    Args:
        rest: its address for REST, such as http://127.0.0.1:8501; None where it has none.
        grpc: its address for gRPC, such as 127.0.0.1:8500; None where it has none.
        models: the folder of the fixture models that it reads; None where it is out of reach.
        patience: how long to wait for a change in what it serves, in seconds.
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
        """Send an HTTP request and read its answer; underscores of header names stand for hyphens."""
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
        """Call a method that should answer."""
        try:
            return method(request, timeout=ANSWER_SECONDS)
        except grpc.RpcError as error:
            raise Mismatch("OK", str(Refusal(error.code(), error.details() or ""))) from None

    def states(self, model: str) -> dict[int, str]:
        """Ask for the versions of a model and their states, by GetModelStatus."""
        request = GetModelStatusRequest()
        request.model_spec.name = model
        answer = self.call(self.model_service.GetModelStatus, request)
        return {one.version: ModelVersionStatus.State.Name(one.state) for one in answer.model_version_status}

    def available(self, model: str) -> set[int]:
        """List the versions of a model that answer requests."""
        return {number for number, state in self.states(model).items() if state == "AVAILABLE"}

    def wait_until(self, is_so: Callable[[], bool], expected: str, received: Callable[[], object]) -> None:
        """Wait for a condition, up to a limit."""
        until = time.monotonic() + self.patience
        while not is_so():
            if time.monotonic() > until:
                raise Mismatch(f"{expected} within {self.patience:g} s", str(received()))
            time.sleep(PAUSE)

    def config(self) -> ModelServerConfig:
        """Read the models.config that the server was started with."""
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
    """Turn a connection that breaks, or an answer that is not HTTP, into a mismatch."""
    try:
        yield
    except (OSError, http.client.HTTPException) as error:
        raise Mismatch("an answer", f"a broken connection ({error!r})") from None


def received(connection: http.client.HTTPConnection) -> Answer:
    """Read the answer to a request that was sent."""
    with broken_is_wrong():
        response = connection.getresponse()
        headers = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, headers, response.read())
