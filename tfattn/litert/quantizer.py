"""Quantization of the weights of a LiteRT file to 8 bits."""

import math
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

import numpy as np

from tfattn.litert.graph_edits import (
    DEQUANTIZE,
    FLOAT32,
    GATHER,
    INT8,
    MATRIX_POSITIONS,
    add_buffer,
    add_tensor,
    code_of,
    operation,
    pack,
    product,
    unpack,
)

MIN_ELEMENTS = 1024  # smaller matrices stay in float32, as in TensorFlow's converter


def matrices(content: bytes) -> list[str]:
    """Return the names of the matrices that `quantize` changes, in the order of the graph."""
    model = unpack(content)
    return list(dict.fromkeys(_Quantizer(model).name(use) for use in _uses(model)))


def quantize(content: bytes, *, keep_float: Collection[str] = ()) -> bytes:
    """Quantize the weight matrices of a LiteRT file to 8 bits; biases, norms and activations stay in float32.

    Each row of a matrix has its own scale. A matrix product quantizes its input when it runs, each vector with its own
    scale ("dynamic range"). The vectors of an embedding table are scaled after they are looked up. A matrix that is
    both, such as the embeddings of a model with tied outputs, is stored once.

    Args:
        content: a file with float32 weights.
        keep_float: names of `matrices` that stay in float32.

    Returns:
        the content of the quantized file.

    Example:
        >>> len(quantize(content)) / len(content)
        0.26
    """
    model = unpack(content)
    quantize_model(model, keep_float=keep_float)
    return pack(model, len(content))


def quantize_model(model: Any, *, keep_float: Collection[str] = ()) -> None:
    """Quantize the matrices of a model, a `ModelT`, which is changed; see `quantize`."""
    quantizer = _Quantizer(model)
    for use in list(_uses(model)):
        if quantizer.name(use) not in keep_float:
            quantizer.quantize(use)
    quantizer.drop_unused()


class _Use(NamedTuple):
    """An operation that reads a matrix: its subgraph, the operation, and the matrix's position among its inputs."""

    graph: Any
    operator: Any
    position: int


def _uses(model: Any) -> Iterator[_Use]:
    for graph in model.subgraphs:
        for operator in graph.operators:
            code = code_of(model, operator)
            position = MATRIX_POSITIONS.get(code)
            if position is None or (code == GATHER and operator.builtinOptions.axis):
                continue
            tensor = graph.tensors[operator.inputs[position]]
            has_data = model.buffers[tensor.buffer].data is not None
            if (
                has_data
                and tensor.type == FLOAT32
                and len(tensor.shape) == 2
                and math.prod(tensor.shape) >= MIN_ELEMENTS
            ):
                yield _Use(graph, operator, position)


class _Quantizer:
    """The quantized matrices of a model.

    Args:
        model: the model, which is changed.
    """

    def __init__(self, model: Any):
        self._model = model
        self._quantized: dict[int, tuple[int, np.ndarray]] = {}  # buffer of a matrix to its 8-bit buffer and scales
        self._scales: dict[int, int] = {}  # buffer of a matrix to the buffer of its scales

    def name(self, use: _Use) -> str:
        """Return the name of the matrix."""
        return use.graph.tensors[use.operator.inputs[use.position]].name.decode().rstrip(";")

    def quantize(self, use: _Use) -> None:
        """Let an operation read the quantized matrix."""
        tensor = use.graph.tensors[use.operator.inputs[use.position]]
        source = tensor.buffer
        if source not in self._quantized:
            values = np.frombuffer(self._model.buffers[source].data, np.float32).reshape(tensor.shape)
            scales = np.maximum(np.abs(values).max(axis=1), np.finfo(np.float32).tiny) / 127
            rounded = np.clip(np.rint(values / scales[:, None]), -127, 127).astype(np.int8)
            self._quantized[source] = add_buffer(self._model, rounded), scales
        buffer, scales = self._quantized[source]
        if use.position:
            matrix = add_tensor(use.graph, tensor.name, tensor.shape, INT8, buffer, scales)
            inputs = use.operator.inputs
            use.operator.inputs = np.array([inputs[0], matrix, *inputs[2:]], np.int32)
            use.operator.builtinOptions.asymmetricQuantizeInputs = True
        else:
            self._scale_vectors(use, tensor, buffer, scales, source)

    def drop_unused(self) -> None:
        """Empty the buffers that no tensor reads."""
        used = {graph.tensors[index].buffer for graph in self._model.subgraphs for index in _read(graph)}
        used |= {entry.buffer for entry in self._model.metadata or ()}
        for number, buffer in enumerate(self._model.buffers):
            if number not in used:
                buffer.data = None

    def _scale_vectors(self, use: _Use, tensor: Any, buffer: int, scales: np.ndarray, source: int) -> None:
        """Replace a lookup of vectors by lookups of 8-bit vectors and of their scales, and a product."""
        graph, operator = use.graph, use.operator
        if source not in self._scales:
            self._scales[source] = add_buffer(self._model, scales.astype(np.float32)[:, None])
        ids, result = operator.inputs[1], graph.tensors[operator.outputs[0]]
        shape, signature = result.shape, result.shapeSignature
        narrow = (*shape[:-1], 1), None if signature is None else (*signature[:-1], 1)
        ones = np.ones(1, np.float32)
        table = add_tensor(graph, tensor.name, tensor.shape, INT8, buffer, ones)
        factors = add_tensor(graph, tensor.name + b"/scales", (len(scales), 1), FLOAT32, self._scales[source])
        name = result.name.rstrip(b";")
        vectors = add_tensor(graph, name + b"/int8", shape, INT8, 0, ones, signature)
        unscaled = add_tensor(graph, name + b"/unscaled", shape, FLOAT32, 0, None, signature)
        factor = add_tensor(graph, name + b"/scale", narrow[0], FLOAT32, 0, None, narrow[1])
        lookup = operator.builtinOptionsType, operator.builtinOptions
        steps = [
            operation(self._model, GATHER, [table, ids], vectors, *lookup),
            operation(self._model, DEQUANTIZE, [vectors], unscaled),
            operation(self._model, GATHER, [factors, ids], factor, *lookup),
            product(self._model, unscaled, factor, operator.outputs[0]),
        ]
        at = next(index for index, other in enumerate(graph.operators) if other is operator)
        graph.operators[at : at + 1] = steps


def _read(graph: Any) -> set[int]:
    """Return the tensors that operations read, and the outputs."""
    read = {int(index) for operator in graph.operators if operator.inputs is not None for index in operator.inputs}
    return {index for index in read if index >= 0} | set(map(int, graph.outputs))
