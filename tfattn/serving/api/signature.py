"""Signatures: the names, types and shapes of inputs and outputs from a SignatureDef."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf.meta_graph_pb2 import SignatureDef, TensorInfo

from tfattn.serving.api.tensors import from_proto

PREDICT = tf.saved_model.PREDICT_METHOD_NAME
CLASSIFY = tf.saved_model.CLASSIFY_METHOD_NAME
REGRESS = tf.saved_model.REGRESS_METHOD_NAME
DEFAULT = tf.saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY


@dataclass(frozen=True)
class Tensor:
    """An input or output.

    Attributes:
        dtype: the type.
        shape: the dimensions, -1 for any size; None for any rank.
        tensor_name: the tensor's name in the graph, such as "x:0".
    """

    dtype: tf.DType
    shape: tuple[int, ...] | None
    tensor_name: str

    @classmethod
    def of(cls, info: TensorInfo) -> "Tensor":
        """Create the object from its message."""
        known = not info.tensor_shape.unknown_rank
        shape = tuple(dim.size for dim in info.tensor_shape.dim) if known else None
        return cls(tf.as_dtype(info.dtype), shape, info.name)

    @functools.cached_property
    def numpy_dtype(self) -> np.dtype:
        """The NumPy type; strings are objects."""
        return np.dtype(self.dtype.as_numpy_dtype)

    @functools.cached_property
    def has_rows(self) -> bool:
        """Whether the first dimension is a batch of any size."""
        return self.shape is None or (len(self.shape) > 0 and self.shape[0] == -1)


@dataclass(frozen=True)
class Signature:
    """A signature of a SavedModel.

    Attributes:
        name: the key in the model.
        method: the method: PREDICT, CLASSIFY or REGRESS.
        inputs, outputs: tensors by name, sorted by name.
        defaults: the inputs with default values.
        message: the SignatureDef.
    """

    name: str
    method: str
    inputs: dict[str, Tensor]
    outputs: dict[str, Tensor]
    defaults: frozenset[str]
    message: SignatureDef

    @classmethod
    def of(cls, name: str, message: SignatureDef) -> "Signature":
        """Create the object from its message."""
        return cls(
            name=name,
            method=message.method_name,
            inputs={key: Tensor.of(message.inputs[key]) for key in sorted(message.inputs)},
            outputs={key: Tensor.of(message.outputs[key]) for key in sorted(message.outputs)},
            defaults=frozenset(message.defaults),
            message=message,
        )

    def completed(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Add the default values of missing inputs."""
        missing = self.defaults - inputs.keys()
        return {**inputs, **{name: from_proto(name, self.message.defaults[name]) for name in missing}}

    @functools.cached_property
    def has_rows(self) -> bool:
        """Whether rows of several requests can be computed in one batch."""
        return all(tensor.has_rows for tensor in (*self.inputs.values(), *self.outputs.values()))
