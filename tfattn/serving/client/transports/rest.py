"""REST requests over persistent HTTP/1.1 connections."""

import base64
import contextlib
import http.client
import json
import ssl
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from grpc import StatusCode

from tfattn.serving.api.failure import HTTP_STATUS, Failure
from tfattn.serving.client.transports.address import Address, Function, Metadata, Spec

_CODES = {
    **{status: code for code, status in reversed(HTTP_STATUS.items())},
    413: StatusCode.INVALID_ARGUMENT,  # the request is too large
    500: StatusCode.INTERNAL,
    502: StatusCode.UNAVAILABLE,
}
MAX_ERROR_LENGTH = 300  # characters of an error page of another program


class Rest:
    """A transport over REST; any number of threads may use it.

    Methods raise the Failure of the server's response, or UNAVAILABLE if the server cannot be reached.

    Args:
        address: the server's address.
        token: the bearer token.
        authority: a PEM file of trusted certificates; None for those of the system.
        timeout: seconds to wait for a connection, and for each part of a response.
    """

    def __init__(self, address: Address, *, token: str | None, authority: Path | None, timeout: float):
        self._address, self._timeout = address, timeout
        self._headers = {"Content-Type": "application/json"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        self._tls = ssl.create_default_context(cafile=authority) if address.is_encrypted else None
        self._idle: list[http.client.HTTPConnection] = []

    def metadata(self, spec: Spec) -> Metadata:
        """Request the signatures of a version."""
        response = self._ask("GET", f"{_path(spec)}/metadata")
        with _expect_tf_serving():
            signatures = response["metadata"]["signature_def"]["signature_def"]
            return Metadata(
                version=int(response["model_spec"]["version"]),
                signatures={
                    name: Function(
                        inputs={key: tensor["dtype"] for key, tensor in signature["inputs"].items()},
                        lists=frozenset(
                            key
                            for key, tensor in signature["inputs"].items()
                            if tensor["dtype"] == "DT_STRING" and len(tensor["tensor_shape"].get("dim", ())) == 2
                        ),
                        optional=frozenset(),  # TF Serving's REST API requires all inputs
                        outputs=tuple(sorted(signature["outputs"])),
                    )
                    for name, signature in signatures.items()
                },
            )

    def predict(
        self, spec: Spec, name: str, function: Function, rows: Sequence[Mapping[str, Any]]
    ) -> list[dict[str, Any]]:
        """Request the outputs of each row by name."""
        response = self._ask("POST", f"{_path(spec)}:predict", {"signature_name": name, "instances": rows})
        with _expect_tf_serving():
            if len(function.outputs) == 1:
                return [{function.outputs[0]: value} for value in response["predictions"]]
            return [{name: row[name] for name in sorted(row)} for row in response["predictions"]]

    def labels(self, spec: Spec, example: Mapping[str, Any]) -> tuple[str, ...]:
        """Request the names of the classes in the order of the scores."""
        request = {"signature_name": "classify", "examples": [example]}
        response = self._ask("POST", f"{_path(spec)}:classify", request)
        with _expect_tf_serving():
            return tuple(label for label, _ in response["results"][0])

    def close(self) -> None:
        """Close the connections."""
        while self._idle:
            self._idle.pop().close()

    def _ask(self, method: str, path: str, request: Any = None) -> Any:
        body = None if request is None else json.dumps(request, default=_plain).encode()
        status, reason, content = self._send(method, self._address.path + path, body)
        text = content.decode("utf-8", errors="replace")
        try:
            value = json.loads(text, object_hook=_unwrapped)
        except (ValueError, RecursionError):
            value = {"error": text.strip()[:MAX_ERROR_LENGTH]}
        if status != http.client.OK:
            message = isinstance(value, dict) and value.get("error") or reason
            raise Failure(_CODES.get(status, StatusCode.UNKNOWN), f"{status} {message}")
        return value

    def _send(self, method: str, path: str, body: bytes | None) -> tuple[int, str, bytes]:
        try:
            while self._idle:
                connection = self._idle.pop()
                # The server may have closed the connection; then it has not read the request.
                with contextlib.suppress(http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
                    return self._exchange(connection, method, path, body)
            return self._exchange(self._connection(), method, path, body)
        except TimeoutError:
            raise Failure(StatusCode.DEADLINE_EXCEEDED, f"no answer within {self._timeout:g} seconds") from None
        except (OSError, http.client.HTTPException) as error:
            raise Failure(StatusCode.UNAVAILABLE, f"cannot be reached ({error or type(error).__name__})") from None

    def _exchange(
        self, connection: http.client.HTTPConnection, method: str, path: str, body: bytes | None
    ) -> tuple[int, str, bytes]:
        try:
            connection.request(method, path, body, self._headers)
            response = connection.getresponse()
            received = response.status, response.reason, response.read()
        except BaseException:
            connection.close()
            raise
        if response.will_close:
            connection.close()
        else:
            self._idle.append(connection)
        return received

    def _connection(self) -> http.client.HTTPConnection:
        host, port = self._address.host, self._address.port
        if self._tls:
            return http.client.HTTPSConnection(host, port, timeout=self._timeout, context=self._tls)
        return http.client.HTTPConnection(host, port, timeout=self._timeout)


def _path(spec: Spec) -> str:
    model = f"/v1/models/{quote(spec.model, safe='')}"
    if spec.version is not None:
        return f"{model}/versions/{spec.version}"
    return f"{model}/labels/{quote(spec.label, safe='')}" if spec.label is not None else model


@contextlib.contextmanager
def _expect_tf_serving() -> Iterator[None]:
    try:
        yield
    except (AttributeError, KeyError, IndexError, TypeError, ValueError):
        raise Failure(StatusCode.UNKNOWN, "what answers there does not speak TF Serving's API") from None


def _unwrapped(value: dict[str, Any]) -> Any:
    """Decode base64 objects, which hold text that may not be UTF-8."""
    if value.keys() == {"b64"} and isinstance(value["b64"], str):
        return base64.b64decode(value["b64"]).decode(errors="replace")
    return value


def _plain(value: Any) -> Any:
    """Convert bytes to TF Serving's base64 objects, and arrays to lists."""
    if isinstance(value, bytes):
        return {"b64": base64.b64encode(value).decode()}
    return value.tolist()
