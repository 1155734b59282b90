"""The tensors of an ONNX file by name, with dequantization; the graph is read for names and never run.

The file is a message of protocol buffers. Only the fields that hold tensors are decoded, and every length is checked
against the file, so that a damaged file takes no memory.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from tfattn.errors import CheckpointError
from tfattn.files.protobuf import fields, numbers

# Field numbers of the messages ModelProto, GraphProto, NodeProto and TensorProto in onnx.proto.
_GRAPH, _NODE, _INITIALIZER = 7, 1, 5
_INPUT, _OUTPUT, _NODE_NAME, _OPERATION = 1, 2, 3, 4
_AXES, _TYPE, _FLOATS, _INTEGERS, _TENSOR_NAME, _BYTES = 1, 2, 4, 5, 8, 9

_TYPES = {1: "<f4", 2: "u1", 3: "i1", 10: "<f2"}  # other types, such as the int64 of shapes, are skipped
QUANTIZATION = ("QuantizeLinear", "DequantizeLinear")


@dataclass
class _Node:
    operation: str = ""
    name: str = ""
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)


class OnnxFile:
    """The tensors of an ONNX file: initializers, dequantized initializers, and matrices.

    A matrix has no name of its own in files that PyTorch exports. Its name here is that of the multiplication that
    reads it: the node `/encoder/dense/MatMul` reads `encoder.dense.weight`, (inputs, outputs).

    Args:
        path: an existing file.

    Example:
        >>> OnnxFile(path).shapes()["distilbert.transformer.layer.0.attention.q_lin.weight"]
        (768, 768)

    Source: github.com/onnx/onnx, onnx.proto; the operator DequantizeLinear with one scale for each tensor.
    """

    def __init__(self, path: Path):
        self.path = path

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Read the shapes of all tensors, by name.

        Raises:
            CheckpointError: the file is damaged, or no ONNX file.
        """
        return {name: self._stored[parts[0]].shape for name, parts in self._parts.items()}

    def read(self, names: Iterable[str]) -> dict[str, np.ndarray]:
        """Read some tensors as float32, by name; errors as `shapes`."""
        return {name: self._value(self._parts[name]) for name in names}

    def _value(self, parts: tuple[str, ...]) -> np.ndarray:
        value, *quantization = (self._stored[part] for part in parts)
        if not quantization:
            return value.astype("float32")
        scale, *zero_point = quantization
        if scale.size != 1 or any(zero.size != 1 for zero in zero_point):
            received = f"scales of shape {scale.shape}"
            raise self._damage(parts[0], "one scale and one zero point for the tensor", received)
        zero = int(zero_point[0].reshape(())) if zero_point else 0
        return (value.astype("int16") - zero) * np.float32(scale.reshape(()))

    @cached_property
    def _parts(self) -> dict[str, tuple[str, ...]]:
        """The stored tensors of each name: a tensor, or quantized values, their scale and their zero point."""
        by_edge = {name: (name,) for name, value in self._stored.items() if value.dtype.kind == "f"}
        names = {name: name for name in by_edge}  # the name of each edge of the graph that has a tensor
        for node in self._nodes:
            if node.operation not in QUANTIZATION or len(node.inputs) < 2 or not node.outputs:
                continue
            for scale in node.inputs[1:]:
                names.pop(scale, None)
            values = node.inputs[0]
            if node.operation == "DequantizeLinear" and all(name in self._stored for name in node.inputs):
                by_edge[node.outputs[0]] = tuple(node.inputs)
                names[node.outputs[0]] = values.removesuffix("_quantized")
        for node in self._nodes:
            if node.operation == "MatMul" and len(node.inputs) == 2 and node.inputs[1] in names:
                path = node.name.removesuffix("/MatMul").strip("/")
                names[node.inputs[1]] = f"{path.replace('/', '.')}.weight"
        return {name: by_edge[edge] for edge, name in names.items()}

    @property
    def _stored(self) -> dict[str, np.ndarray]:
        return self._content[0]

    @property
    def _nodes(self) -> list[_Node]:
        return self._content[1]

    @cached_property
    def _content(self) -> tuple[dict[str, np.ndarray], list[_Node]]:
        """The initializers by name, and the nodes."""
        try:
            content = memoryview(self.path.read_bytes())
        except OSError as error:
            raise CheckpointError(f"cannot be read ({error.strerror})", where=str(self.path)) from None
        stored: dict[str, np.ndarray] = {}
        nodes: list[_Node] = []
        try:
            for number, graph in fields(content):
                for part, message in fields(graph) if number == _GRAPH else ():
                    if part == _NODE:
                        nodes.append(_node(message))
                    elif part == _INITIALIZER:
                        self._add_tensor(stored, message)
        except (IndexError, TypeError, ValueError):
            raise self._damage("", "an ONNX file", f"{len(content):,} bytes of another or an incomplete file") from None
        if not stored:
            raise self._damage("", "an ONNX file with its tensors", "no tensors")
        return stored, nodes

    def _add_tensor(self, stored: dict[str, np.ndarray], message: memoryview) -> None:
        shape: list[int] = []
        kind, name, values = 0, "", None
        for number, value in fields(message):
            if number == _AXES:
                shape += numbers(value)
            elif number == _TYPE:
                kind = value
            elif number == _TENSOR_NAME:
                name = _text(value)
            elif number in (_BYTES, _FLOATS):
                values = np.frombuffer(value, _TYPES.get(kind, "u1"))
            elif number == _INTEGERS and kind in _TYPES:
                values = np.array(numbers(value), "u8").astype(_TYPES[kind])
        if kind not in _TYPES:
            return
        if values is None or values.size != math.prod(shape):
            received = "no values in the file" if values is None else f"{values.size:,} values"
            raise self._damage(name, f"values of shape {tuple(shape)}", received)
        stored[name] = values.reshape(shape)

    def _damage(self, name: str, expected: str, received: str) -> CheckpointError:
        return CheckpointError(
            "cannot be read as ONNX",
            where=f"{self.path}: {name}" if name else str(self.path),
            expected=expected,
            received=received,
            remedy="Install the package or fetch the file again.",
        )


def _node(message: memoryview) -> _Node:
    node = _Node()
    for number, value in fields(message):
        if number == _INPUT:
            node.inputs.append(_text(value))
        elif number == _OUTPUT:
            node.outputs.append(_text(value))
        elif number == _NODE_NAME:
            node.name = _text(value)
        elif number == _OPERATION:
            node.operation = _text(value)
    return node


def _text(value: memoryview) -> str:
    return bytes(value).decode("utf-8")
