"""A model on a server, with the interface of a local model."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tfattn.features import IMAGE, TEXT
from tfattn.formats.training_file import TrainingFile
from tfattn.serving.api.bearer import read_token
from tfattn.serving.client.client import Client
from tfattn.serving.client.transports.address import with_model


class RemoteModel:
    """A model on a server, with the interface of `LocalModel`.

    Args:
        address: the server's address and the model's name, such as http://127.0.0.1:8501/reports.
        token_file: a file with the bearer token, if the server needs one.

    Attributes:
        trained_on: the column of each input in files: the server only knows the name of the input.
        numeric, lists, writes_text, signatures: see `LocalModel`.
        files: the inputs that are the bytes of images: the input `image`.
    """

    def __init__(self, address: str, *, token_file: Path | None = None):
        server, self._spec = with_model(address)
        self._client = Client(server, token=read_token(token_file) if token_file else None)
        known = self._client.metadata(self._spec.model, version=self._spec.version, label=self._spec.label)
        self.signatures = tuple(known.signatures)
        self._inputs = {name: function.inputs for name, function in known.signatures.items()}
        function = known.signatures["serving_default"]
        self.trained_on = TrainingFile({name: name for name in sorted(function.inputs)})
        self.numeric = frozenset(name for name, dtype in function.inputs.items() if dtype != "DT_STRING")
        self.lists = frozenset(function.lists)
        self.files = frozenset({IMAGE} & function.inputs.keys())
        self.writes_text = TEXT in function.outputs

    def inputs_of(self, signature: str) -> dict[str, bool]:
        """Return the names of the inputs of a signature, and whether each is a number."""
        return {name: dtype != "DT_STRING" for name, dtype in self._inputs[signature].items()}

    def predict(self, rows: Sequence[Mapping[str, Any]], *, signature: str = "serving_default") -> list[dict[str, Any]]:
        """Request the predictions of rows."""
        spec = self._spec
        return self._client.predict(spec.model, rows, signature=signature, version=spec.version, label=spec.label)
