"""Weights as inputs of a graph, which become constants of its file.

The converter copies, folds and compares constants many times, which takes a minute for hundreds of megabytes. A graph
whose weights are inputs is converted in seconds, and the weights are added to its file afterwards.
"""

from collections.abc import Mapping

import numpy as np

from tfattn.litert.graph_edits import add_buffer, pack, unpack
from tfattn.litert.quantizer import quantize_model
from tfattn.litert.smoothing import Smoothing, smoothed

ROOM = 2**22  # bytes of a file in addition to its content and weights


def attach(
    content: bytes,
    weights: Mapping[str, np.ndarray],
    scales: Mapping[str, np.ndarray] | None = None,
    *,
    precision: str = "float32",
) -> bytes:
    """Replace inputs of all signatures by constants; signatures share the weights of the same name.

    Args:
        content: the content of a LiteRT file.
        weights: float32 values by the name of the input.
        scales: the factors of matrices whose products are smoothed, by name; see `smoothing`.
        precision: "int8" quantizes matrices, see `quantize`; "float32" does not.

    Returns:
        the content of the file with the constants.
    """
    scales = scales or {}
    values = smoothed(weights, scales)
    model = unpack(content)
    smoothing, buffers = Smoothing(model, scales), {}
    for signature in model.signatureDefs:
        graph = model.subgraphs[signature.subgraphIndex]
        names = {entry.tensorIndex: entry.name.decode() for entry in signature.inputs}
        constants = {index: name for index, name in names.items() if name in values}
        signature.inputs = [entry for entry in signature.inputs if entry.tensorIndex not in constants]
        graph.inputs = np.array([index for index in graph.inputs if index not in constants], np.int32)
        for index, name in constants.items():
            if name not in buffers:
                buffers[name] = add_buffer(model, np.asarray(values[name], np.float32))
            tensor = graph.tensors[index]
            tensor.name, tensor.buffer, tensor.shapeSignature = name.encode(), buffers[name], None
        smoothing.apply(graph, constants)
    if precision == "int8":
        quantize_model(model)
    size = sum(len(buffer.data) for buffer in model.buffers if buffer.data is not None)
    return pack(model, len(content) + size + ROOM)
