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
from tfattn.serving.api.failure import Failure
from tfattn.serving.api.signature import DEFAULT, Tensor
from tfattn.serving.api.tensors import strings
from tfattn.serving.client.row_outputs import decoded, named
from tfattn.serving.engine.saved_model import EXPORT_AGAIN, SavedModel
from tfattn.serving.models import model_store
from tfattn.serving.page import card


def load(model: str, folder: str | Path = "saved_models", *, allow_operations: Collection[str] = ()) -> "LocalModel":
    """Load the newest version of a model.

    Args:
        model: a version's folder, a model's folder or its name.
        folder: the folder of all exported models.
        allow_operations: the names of operations that it may have although they do more than compute.

    Raises:
        ServingError: there is no such model, or it is damaged or not a SavedModel.
        SavedModelError: it would do more than compute, or one of its files stands elsewhere.
    """
    return LocalModel(model_store.find(model, folder), allow_operations=allow_operations)


class LocalModel:
    """A SavedModel with the names of its inputs and outputs.

    Args:
        folder: the version's folder, as `SavedModel` takes it.
        allow_operations: the names of operations that it may have although they do more than compute.

    Attributes:
        folder: the version's folder.
        signatures: the names of its signatures.
        inputs: the names of the fields that it needs; others have default values.
        trained_on: each input, and the column of a source file that it was trained on, and how that file is read.
        numeric: the inputs that are numbers; the others are texts.
        lists: the inputs of which a row has several texts.
        files: the inputs that are the bytes of images, by its card.
        writes_text: whether its prediction is a text.
        labels: the label names in the order of `scores`; empty where the model has none.

    Example:
        >>> model = load("factory_reports")
        >>> model.predict([{"text": "Coolant is pooling underneath sorter."}])[0]["label"]
        'Leak'
    """

    def __init__(self, folder: Path, *, allow_operations: Collection[str] = ()):
        self.folder = Path(folder)
        self._model = SavedModel(self.folder, allow_operations=allow_operations)
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
        kinds = {name: one.kind for name, one in known.inputs.items()} if known else {}
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

    def predict(self, rows: Sequence[Mapping[str, Any]], *, signature: str = DEFAULT) -> list[dict[str, Any]]:
        """Compute the predictions of any number of rows.

        Args:
            rows: each with the inputs of the signature, texts or numbers; those with default values may be left out.
            signature: what is asked for.

        Returns:
            for each row, in their order, the outputs by name, as plain Python values. A classifier's are `label`,
            `label_id`, the `score` of that label, and `scores`, from label name to score; where rows may have any
            number of labels, those that are given are `labels`.

        Raises:
            ServingError: a row lacks an input, or has text for a number or a number for text, or TensorFlow fails.
            RefusedError: the model does not take one of the rows.
        """
        columns = self.outputs(rows, signature=signature)
        outputs = ({name: column[index] for name, column in columns.items()} for index in range(len(rows)))
        return [named(one, self.labels) for one in outputs]

    def inputs_of(self, signature: str) -> dict[str, bool]:
        """Tell what a signature needs: the names of its inputs, and whether each is a number."""
        function = self._model.signatures[signature]
        needed = {name: tensor for name, tensor in function.inputs.items() if name not in function.defaults}
        return {name: not _is_text(tensor) for name, tensor in needed.items()}

    def outputs(self, rows: Sequence[Mapping[str, Any]], *, signature: str = DEFAULT) -> dict[str, list[Any]]:
        """Run a signature on a batch of rows: by output, a plain value for each row.

        Raises:
            ServingError: as `arrays`.
        """
        found = self.arrays(rows, signature=signature)
        return {name: decoded(value.tolist()) for name, value in sorted(found.items())}

    def arrays(self, rows: Sequence[Mapping[str, Any]], *, signature: str) -> dict[str, np.ndarray]:
        """Run a signature on a batch of rows: by output an array, of texts as bytes.

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
    for value in values:
        if value is None or isinstance(value, str | bytes) != _is_text(tensor):
            expected = "text" if _is_text(tensor) else "a number"
            raise ServingError(
                f"the input `{name}` is no {expected.split()[-1]}", expected=expected, received=repr(value)
            )
    if not _is_text(tensor):
        return np.array(values, tensor.numpy_dtype)
    return strings([value.encode("utf-8") if isinstance(value, str) else value for value in values])
