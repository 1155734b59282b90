"""The startup message of a server: models, addresses, and an example command."""

import contextlib
import json
from dataclasses import dataclass

from tfattn.serving.api.failure import Failure
from tfattn.serving.api.signature import DEFAULT, Tensor
from tfattn.serving.models.models import Models


@dataclass(frozen=True)
class Announcement:
    """The models and addresses of a running server.

    Attributes:
        models: the models.
        rest: the URL of the REST API and the page.
        grpc: the address of the gRPC API.
    """

    models: Models
    rest: str
    grpc: str

    def rows(self) -> list[tuple[str, int, str]]:
        """Return the model, number and state of each version, with the error instead of the state after a failure."""
        versions = []
        for name in self.models.names:
            with contextlib.suppress(Failure):  # the model has no version yet
                versions += self.models.status(name)
        return [
            (version.model, version.number, version.error.message if version.error else version.state.name)
            for version in versions
        ]

    def curl(self) -> str:
        """Return an example command for the first available model; empty if no model is available."""
        for name in self.models.names:
            with contextlib.suppress(Failure):
                version = self.models.find(name)
                if version.writes_texts:
                    body = json.dumps({"model": name, "prompt": "Once upon a time", "stream": True})
                    return f"curl -N -d '{body}' {self.rest}/v1/completions"
                signature = version.signatures[DEFAULT]
                row = {key: _example(tensor) for key, tensor in signature.inputs.items()}
                body = json.dumps({"instances": [row if len(row) > 1 else next(iter(row.values()))]})
                return f"curl -d '{body}' {self.rest}/v1/models/{name}:predict"
        return ""


def _example(tensor: Tensor) -> object:
    """Return an example value for a row: a text, or zeros of the tensor's shape."""
    value: object = "some text" if tensor.dtype.name == "string" else tensor.dtype.as_numpy_dtype(0).item()
    for size in reversed((tensor.shape or ())[1:]):
        value = [value] * max(1, size)
    return value
