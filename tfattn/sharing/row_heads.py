"""The heads of transformers for a text: a dense layer on the vector of the first token, an activation, a linear map."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tfattn.errors import ExportError
from tfattn.sharing.architecture import Architecture
from tfattn.sharing.trained_export import TrainedExport

# A power of 2, so that products with it are exact: tanh(x / SCALE) SCALE is x up to x^3 / (3 SCALE^2).
SCALE = np.float32(2.0**12)


@dataclass(frozen=True)
class RowHead:
    """The tensors of a head and its settings in config.json."""

    tensors: dict[str, np.ndarray]
    settings: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class _Layers:
    """The layers of a class of transformers.

    Args:
        dense: the name of the dense layer.
        activation: tanh, gelu or relu.
        linear: the name of the linear map.
        settings: settings that choose the activation.
    """

    dense: str
    activation: str
    linear: str
    settings: dict[str, Any] = field(default_factory=dict)


_ROBERTA = _Layers("classifier.dense", "tanh", "classifier.out_proj")
_DEBERTA = _Layers("pooler.dense", "tanh", "classifier", {"pooler_hidden_act": "tanh"})
_SEQUENCE = {
    "albert": _Layers("albert.pooler", "tanh", "classifier"),
    "bert": _Layers("bert.pooler.dense", "tanh", "classifier"),
    "deberta-v2": _DEBERTA,
    "distilbert": _Layers("pre_classifier", "relu", "classifier"),
    "electra": _Layers("classifier.dense", "gelu", "classifier.out_proj"),
    "mpnet": _ROBERTA,
    "roberta": _ROBERTA,
    "xlm-roberta": _ROBERTA,
}
_CHOICE = {
    **{name: _SEQUENCE[name] for name in ("albert", "bert", "deberta-v2", "distilbert")},
    "mpnet": _Layers("mpnet.pooler.dense", "tanh", "classifier"),
    "roberta": _Layers("roberta.pooler.dense", "tanh", "classifier"),
    "xlm-roberta": _Layers("roberta.pooler.dense", "tanh", "classifier"),
}
_LAYERS = {"ForSequenceClassification": _SEQUENCE, "ForMultipleChoice": _CHOICE}


def row_head(
    export: TrainedExport, architecture: Architecture, suffix: str, kernel: np.ndarray, bias: np.ndarray
) -> RowHead:
    """Express a linear head as the head of transformers.

    A task with the pooler of BERT has the same layers where the activation is tanh. A linear map of the vector of [CLS]
    passes the activation unchanged: tanh of small numbers is linear, and gelu(x) - gelu(-x) and relu(x) - relu(-x) are
    x.

    Args:
        export: the export.
        architecture: the architecture of its model.
        suffix: the class, ForSequenceClassification or ForMultipleChoice.
        kernel: (D, C), of the head.
        bias: (C,).

    Raises:
        ExportError: transformers has no such head, or pools texts in another way.
    """
    layers = _LAYERS[suffix].get(architecture.model_type)
    pooling = export.task_settings["pooling"] or "mean"
    num_layers = export.task_settings["pooled_layers"] or 1
    width, columns = kernel.shape
    known = {} if layers is None else _poolings(layers, fits_twice=2 * columns <= width)
    if pooling not in known or num_layers != 1:
        name = architecture.name + suffix
        received = f"pooling: {pooling}" + f", pooled_layers: {num_layers}" * (num_layers != 1)
        advice = f"Train with `task.pooling: {' or '.join(known)}`; or w" if known else "W"
        raise ExportError(
            f"{name} pools texts in another way" if known else f"transformers has no linear head for a {name}",
            where=str(export.folder),
            expected=f"pooling: {' or '.join(known)}, with one layer" if known else "another architecture",
            received=received,
            remedy=f"{advice}rite the encoder without the head: --encoder-only.",
        )
    dense, kernel = known[pooling](export, kernel)
    return RowHead(linear(layers.dense, *dense) | linear(layers.linear, kernel, bias), layers.settings)


def linear(name: str, kernel: np.ndarray, bias: np.ndarray) -> dict[str, np.ndarray]:
    """Return the tensors of a linear map with a kernel (inputs, outputs)."""
    return {f"{name}.weight": np.ascontiguousarray(kernel.T), f"{name}.bias": bias}


def _poolings(layers: _Layers, *, fits_twice: bool) -> dict[str, Any]:
    """Return the functions that make the dense layer and the kernel of the head, by the pooling of the task."""
    if layers.activation == "tanh":
        return {"pooler": _pooler, "cls": _nearly_linear}
    return {"cls": _two_signs} if fits_twice else {}


def _pooler(export: TrainedExport, kernel: np.ndarray) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
    return (export.values["pooler/dense/kernel"], export.values["pooler/dense/bias"]), kernel


def _nearly_linear(export: TrainedExport, kernel: np.ndarray) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
    width = len(kernel)
    return (np.eye(width, dtype="float32") / SCALE, np.zeros(width, "float32")), kernel * SCALE


def _two_signs(export: TrainedExport, kernel: np.ndarray) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
    width, columns = kernel.shape
    dense, back = np.zeros((width, width), "float32"), np.zeros((width, columns), "float32")
    for sign, first in ((1, 0), (-1, columns)):
        dense[:, first : first + columns] = sign * kernel
        back[first : first + columns] = sign * np.eye(columns)
    return (dense, np.zeros(width, "float32")), back
