"""Smoothing of products, for more exact 8-bit computation.

Before a product, LiteRT rounds each input vector to 8 bits with a single scale. A few large components then leave few
steps for the others. Smoothing divides components by factors, by which the columns of the matrix are multiplied: this
changes no result in float32, and inputs and columns become about equally uneven.

Source: Xiao et al. 2023, "SmoothQuant: accurate and efficient post-training quantization for large language models",
with the root mean square of the inputs instead of their maximum.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tfattn.litert.graph_edits import FLOAT32, GATHER, MATRIX_POSITIONS, add_buffer, add_tensor, code_of, product

MIN_SIZE = 1e-5


def factors(inputs_rms: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Return the factor of each component of the inputs.

    Args:
        inputs_rms: (K,), the root mean square of each component.
        matrix: (U, K).
    """
    columns = np.maximum(np.abs(matrix).max(axis=0), MIN_SIZE)
    found = np.sqrt(np.maximum(inputs_rms, MIN_SIZE) / columns)
    return (found / np.exp(np.log(found).mean())).astype(np.float32)


class Smoothing:
    """Divides the inputs of products, and looked up vectors, by the factors of a matrix.

    Args:
        model: the model, a `ModelT`, which is changed.
        scales: the factors of each matrix by name.
    """

    def __init__(self, model: Any, scales: Mapping[str, np.ndarray]):
        self._model, self._scales = model, scales
        self._buffers: dict[str, int] = {}

    def apply(self, graph: Any, matrices: Mapping[int, str]) -> None:
        """Add the divisions to a subgraph.

        Args:
            graph: the subgraph.
            matrices: tensor index to the name of a matrix, whose columns must be multiplied by its factors.
        """
        operators: list[Any] = []
        for operator in graph.operators:
            code = code_of(self._model, operator)
            position = MATRIX_POSITIONS.get(code)
            name = None if position is None else matrices.get(int(operator.inputs[position]))
            if name is None or name not in self._scales:
                operators.append(operator)
            elif code == GATHER:
                output = int(operator.outputs[0])
                operator.outputs = np.array([_like(graph, output)], np.int32)
                operators += [operator, self._divided(graph, int(operator.outputs[0]), output, name)]
            else:
                source, *others = map(int, operator.inputs)
                operator.inputs = np.array([_like(graph, source), *others], np.int32)
                operators += [self._divided(graph, source, int(operator.inputs[0]), name), operator]
        graph.operators = operators

    def _divided(self, graph: Any, source: int, output: int, name: str) -> Any:
        scales = self._scales[name]
        if name not in self._buffers:
            self._buffers[name] = add_buffer(self._model, 1 / scales)
        divisors = add_tensor(graph, f"{name}/divisors".encode(), scales.shape, FLOAT32, self._buffers[name])
        return product(self._model, source, divisors, output)


def smoothed(weights: Mapping[str, np.ndarray], scales: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Multiply the columns of matrices by their factors."""
    return {name: values * scales[name] if name in scales else values for name, values in weights.items()}


def _like(graph: Any, index: int) -> int:
    """Add a tensor of the shape of another."""
    source = graph.tensors[index]
    return add_tensor(graph, source.name + b"/divided", source.shape, source.type, signature=source.shapeSignature)
