"""A model on a server, as `tfattn predict` takes one."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tfattn.features import IMAGE, TEXT
from tfattn.formats.training_file import TrainingFile
from tfattn.serving.api.bearer import read_token
from tfattn.serving.client.client import Client
from tfattn.serving.client.transports.address import with_model


class RemoteModel:
    """A model on a server, which predicts as `LocalModel` does.

    Args:
        address: the server's address with the model's name behind it, such as http://127.0.0.1:8501/reports.
        token_file: a file with the bearer token, where the server asks for one.

    Attributes:
        trained_on: each input, and the column of a source file that it is read from: a server knows its name alone.
        numeric: the inputs that are numbers; the others are texts.
        lists: the inputs of which a row has several texts.
        files: the inputs that are the bytes of images: the one of the name `image`.
        writes_text: whether its prediction is a text.
        signatures: the names of its signatures.
    """

    def __init__(self, address: str, *, token_file: Path | None = None):
        server, self._spec = with_model(address)
        self._client = Client(server, token=read_token(token_file) if token_file else None)
        known = self._client.metadata(self._spec.model, version=self._spec.version, label=self._spec.label)
        self.signatures = tuple(known.signatures)
        self._inputs = {name: one.inputs for name, one in known.signatures.items()}
        function = known.signatures["serving_default"]
        self.trained_on = TrainingFile({name: name for name in sorted(function.inputs)})
        self.numeric = frozenset(name for name, dtype in function.inputs.items() if dtype != "DT_STRING")
        self.lists = frozenset(function.lists)
        self.files = frozenset({IMAGE} & function.inputs.keys())
        self.writes_text = TEXT in function.outputs

    def inputs_of(self, signature: str) -> dict[str, bool]:
        """Tell what a signature reads: the names of its inputs, and whether each is a number."""
        return {name: dtype != "DT_STRING" for name, dtype in self._inputs[signature].items()}

    def predict(self, rows: Sequence[Mapping[str, Any]], *, signature: str = "serving_default") -> list[dict[str, Any]]:
        """Request the predictions of rows, in their order."""
        spec = self._spec
        return self._client.predict(spec.model, rows, signature=signature, version=spec.version, label=spec.label)
