"""An exported model in this process: rows in, predictions out."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from grpc import StatusCode

from tfattn.errors import RefusedError, ServingError
from tfattn.features import TEXT
from tfattn.formats.columns import even
from tfattn.formats.training_file import TrainingFile
from tfattn.litert import Engine
from tfattn.serving.api.failure import Failure
from tfattn.serving.api.signature import DEFAULT, Tensor
from tfattn.serving.api.tensors import strings
from tfattn.serving.client.row_values import as_text, decoded, named, records
from tfattn.serving.engine.litert import with_engine
from tfattn.serving.engine.saved_model import EXPORT_AGAIN, SavedModel
from tfattn.serving.models import model_store
from tfattn.serving.page import card


def load(
    model: str,
    folder: str | Path = "saved_models",
    *,
    allow_operations: Collection[str] = (),
    engine: Engine = "tensorflow",
) -> "LocalModel":
    """Load the newest version of a model.

    Args:
        model: a version's folder, a model's folder or its name.
        folder: the folder of all exported models.
        allow_operations: the names of operations to allow although they have side effects.
        engine: what computes the model, see `open_engine`.

    Raises:
        ServingError: there is no such model, or it is damaged or not a SavedModel.
        SavedModelError: an operation has side effects, or a file is outside the folder.
    """
    return LocalModel(model_store.find(model, folder), allow_operations=allow_operations, engine=engine)


class LocalModel:
    """A SavedModel with the names of its inputs and outputs.

    Args:
        folder: the version's folder, as `SavedModel` takes it.
        allow_operations: the names of operations to allow although they have side effects.
        engine: what computes the model, see `open_engine`.

    Attributes:
        folder: the version's folder.
        signatures: the names of its signatures.
        inputs: the names of the inputs without default values.
        trained_on: the column of each input in the training file, and the format of that file.
        numeric: the inputs that are numbers; the others are texts.
        lists: the inputs with a list of texts per row.
        files: the inputs that are the bytes of images, according to the card.
        writes_text: whether the prediction is a text.
        labels: the labels in the order of `scores`; empty if the model has none.

    Example:
        >>> model = load("factory_reports")
        >>> model.predict([{"text": "Coolant is pooling underneath sorter."}])[0]["label"]
        'Leak'
    """

    def __init__(self, folder: Path, *, allow_operations: Collection[str] = (), engine: Engine = "tensorflow"):
        self.folder = Path(folder)
        self._model = with_engine(SavedModel(self.folder, allow_operations=allow_operations), engine)
        if DEFAULT not in self._model.signatures:
            raise ServingError(
                "the SavedModel has no default signature",
                where=str(self.folder),
                expected=DEFAULT,
                received=", ".join(self._model.signatures) or "none at all",
            )
        self.signatures = tuple(self._model.signatures)
        default = self._model.signatures[DEFAULT]
        self.inputs = tuple(name for name in default.inputs if name not in default.defaults)
        self.numeric = frozenset(name for name, tensor in default.inputs.items() if not _is_text(tensor))
        self.lists = frozenset(name for name, tensor in default.inputs.items() if _is_list(tensor))
        known = card.read(self.folder)
        kinds = {name: column.kind for name, column in known.inputs.items()} if known else {}
        self.files = frozenset(name for name in self.inputs if kinds.get(name) == "image")
        self.writes_text = TEXT in default.outputs
        source = self.folder / "assets.extra" / "source.json"
        self.trained_on = (
            TrainingFile.read(source, remedy=EXPORT_AGAIN)
            if source.is_file()
            else TrainingFile({name: name for name in self.inputs})
        )
        labels = self.folder / "assets" / "labels.txt"
        self.labels = tuple(labels.read_text(encoding="utf-8").split("\n")[:-1]) if labels.is_file() else ()

    def predict(self, rows: Any, *, signature: str = DEFAULT) -> list[dict[str, Any]]:
        """Compute the predictions of any number of rows.

        Args:
            rows: mappings with the inputs of the signature, texts or numbers, or a pandas DataFrame; inputs with
                default values are optional. Numbers for text inputs, such as integer categories, are read as text.
            signature: the signature to call.

        Returns:
            the outputs of each row by name, as plain Python values; see `Client.predict`.

        Raises:
            ServingError: a row lacks an input, or has a text for a number, or TensorFlow fails.
            RefusedError: the model refuses a row.
        """
        rows = records(rows)
        columns = self.outputs(rows, signature=signature)
        outputs = ({name: column[index] for name, column in columns.items()} for index in range(len(rows)))
        return [named(output, self.labels) for output in outputs]

    def inputs_of(self, signature: str) -> dict[str, bool]:
        """Return the names of the required inputs of a signature, and whether each is a number."""
        function = self._model.signatures[signature]
        needed = {name: tensor for name, tensor in function.inputs.items() if name not in function.defaults}
        return {name: not _is_text(tensor) for name, tensor in needed.items()}

    def outputs(self, rows: Sequence[Mapping[str, Any]], *, signature: str = DEFAULT) -> dict[str, list[Any]]:
        """Run a signature on a batch of rows; return a plain value for each row, by output.

        Raises:
            ServingError: as `arrays`.
        """
        found = self.arrays(rows, signature=signature)
        return {name: decoded(value.tolist()) for name, value in sorted(found.items())}

    def arrays(self, rows: Sequence[Mapping[str, Any]], *, signature: str) -> dict[str, np.ndarray]:
        """Run a signature on a batch of rows; return an array for each output, with texts as bytes.

        Raises:
            ServingError: the model has no such signature; or as `predict`.
        """
        if signature not in self._model.signatures:
            raise ServingError(
                "the model has no such signature",
                where=str(self.folder),
                expected=f"one of {', '.join(self._model.signatures)}",
                received=signature,
            )
        function = self._model.signatures[signature]
        given = {
            name: tensor
            for name, tensor in function.inputs.items()
            if name not in function.defaults or any(name in row for row in rows)
        }
        for row in rows:
            for name in given:
                if name not in row:
                    raise ServingError("a row lacks an input", expected=name, received=", ".join(row) or "nothing")
        columns = {name: _column(name, tensor, [row[name] for row in rows]) for name, tensor in given.items()}
        try:
            return self._model.run(signature, function.completed(columns))
        except Failure as failure:
            kind = RefusedError if failure.code is StatusCode.INVALID_ARGUMENT else ServingError
            raise kind("the model cannot compute this", where=str(self.folder), received=failure.message) from None


def _is_text(tensor: Tensor) -> bool:
    return tensor.numpy_dtype == np.dtype(object)


def _is_list(tensor: Tensor) -> bool:
    return _is_text(tensor) and len(tensor.shape or ()) == 2


def _column(name: str, tensor: Tensor, values: Sequence[Any]) -> np.ndarray:
    if _is_list(tensor):
        texts = even(list(values))
        return np.array([[text.encode("utf-8") for text in row] for row in texts], object)
    values = list(map(as_text, values)) if _is_text(tensor) else values
    for value in values:
        if value is None or isinstance(value, str | bytes) != _is_text(tensor):
            expected = "text" if _is_text(tensor) else "a number"
            raise ServingError(
                f"the input `{name}` is no {expected.split()[-1]}", expected=expected, received=repr(value)
            )
    if not _is_text(tensor):
        return np.array(values, tensor.numpy_dtype)
    return strings([value.encode("utf-8") if isinstance(value, str) else value for value in values])
