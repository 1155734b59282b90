"""One version of an exported model in memory: rows in, answers out."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf
import tensorflow_text  # noqa: F401  registers the operations of tokenizers

from tfattn import files
from tfattn.errors import ServingError
from tfattn.serving import model_store

SIGNATURE = "serving_default"


def load(model: str, folder: str | Path = "saved_models") -> "Engine":
    """Loads the newest version of a model.

    Args:
        model: a version's folder, a model's folder or its name.
        folder: the folder of all exported models.

    Returns:
        what answers rows.

    Raises:
        ServingError: there is no such model, or it is damaged or not a SavedModel.
    """
    return Engine(model_store.find(model, folder))


class Engine:
    """A SavedModel and the names of what goes in and what comes out.

    Args:
        folder: the version's folder. Where it has a manifest, its files are held against it.

    Attributes:
        folder: the version's folder.
        inputs: the names of the fields that it reads.
        columns: each input, and the column of a source file that it was trained on.
        labels: the label names in the order of `scores`; empty where the model has none.

    Example:
        >>> engine = load("factory_reports")
        >>> engine.answer([{"text": "Coolant is pooling underneath sorter."}])[0]["label"]
        'Leak'
    """

    def __init__(self, folder: Path):
        self.folder = Path(folder)
        if (self.folder / files.MANIFEST).is_file():
            files.verify(self.folder)
        try:
            self._loaded = tf.saved_model.load(str(self.folder))  # its variables live as long as it does
            self._signature = self._loaded.signatures[SIGNATURE]
        except (OSError, ValueError, KeyError, tf.errors.OpError) as error:
            raise ServingError(
                "cannot load the SavedModel",
                where=str(self.folder),
                expected=f"one with the signature {SIGNATURE}",
                received=(str(error).splitlines() or [type(error).__name__])[0],
                remedy="Export it again.",
            ) from None
        self.inputs = tuple(sorted(self._signature.structured_input_signature[1]))
        self.columns = {name: name for name in self.inputs} | self._extra("columns.json")
        labels = self.folder / "assets" / "labels.txt"
        self.labels = tuple(labels.read_text(encoding="utf-8").split("\n")[:-1]) if labels.is_file() else ()

    def answer(self, rows: Sequence[Mapping[str, str]]) -> list[dict[str, Any]]:
        """Answers a batch of rows, each with the fields named in `inputs`; any number of them, in their order.

        Returns:
            for each row the outputs by name, as plain Python values. A classifier's are `label`, `label_id`, the
            `score` of that label, and `scores`, from label name to score.

        Raises:
            ServingError: a row lacks an input, or TensorFlow fails.
        """
        for row in rows:
            for name in self.inputs:
                if name not in row:
                    raise ServingError("a row lacks an input", expected=name, received=", ".join(row) or "nothing")
        columns = {name: tf.constant([row[name] for row in rows], tf.string) for name in self.inputs}
        try:
            outputs = self._signature(**columns)
        except tf.errors.OpError as error:
            raise ServingError("the model cannot answer", where=str(self.folder), received=error.message) from None
        values = {name: _decoded(value.numpy().tolist()) for name, value in sorted(outputs.items())}
        return [self._named({name: column[index] for name, column in values.items()}) for index in range(len(rows))]

    def _named(self, answer: dict[str, Any]) -> dict[str, Any]:
        if not self.labels:
            return answer
        scores = dict(zip(self.labels, answer["scores"], strict=True))
        label = answer["label"]
        return {"label": label, "label_id": answer["label_id"], "score": scores[label], "scores": scores}

    def _extra(self, name: str) -> dict[str, Any]:
        path = self.folder / "assets.extra" / name
        return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def _decoded(value: Any) -> Any:
    """Nested lists with strings in place of bytes."""
    if isinstance(value, list):
        return [_decoded(item) for item in value]
    return value.decode("utf-8", errors="replace") if isinstance(value, bytes) else value
