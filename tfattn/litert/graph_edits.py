"""Additions to the graph of a LiteRT file: tensors, buffers and operations, as objects of TensorFlow's schema."""

from typing import Any

import flatbuffers
import numpy as np
from tensorflow.lite.python import schema_py_generated as schema

from tfattn.litert.model_file import IDENTIFIER

GATHER, FULLY_CONNECTED = schema.BuiltinOperator.GATHER, schema.BuiltinOperator.FULLY_CONNECTED
DEQUANTIZE, MUL = schema.BuiltinOperator.DEQUANTIZE, schema.BuiltinOperator.MUL
FLOAT32, INT8 = schema.TensorType.FLOAT32, schema.TensorType.INT8
MATRIX_POSITIONS = {GATHER: 0, FULLY_CONNECTED: 1}  # of the matrix among the inputs of an operation
READS_INT8 = {GATHER: 2, DEQUANTIZE: 2}  # the versions of operations that read 8 bits; others are version 1


def unpack(content: bytes) -> Any:
    """Return the content of a file as a `ModelT`, which can be changed."""
    return schema.ModelT.InitFromPackedBuf(content, 0)


def pack(model: Any, room: int) -> bytes:
    """Return a `ModelT` as the content of a file; `room` is about its size in bytes."""
    builder = flatbuffers.Builder(room)
    builder.Finish(model.Pack(builder), IDENTIFIER)
    return bytes(builder.Output())


def code_of(model: Any, operator: Any) -> int:
    """Return the code of an operation in BuiltinOperator."""
    return model.operatorCodes[operator.opcodeIndex].builtinCode


def add_buffer(model: Any, values: np.ndarray) -> int:
    """Add a buffer with values and return its index."""
    buffer = schema.BufferT()
    buffer.data = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
    model.buffers.append(buffer)
    return len(model.buffers) - 1


def add_tensor(
    graph: Any,
    name: bytes,
    shape: Any,
    kind: int,
    buffer: int = 0,
    scales: np.ndarray | None = None,
    signature: Any = None,
) -> int:
    """Add a tensor to a subgraph and return its index.

    Args:
        graph: the subgraph.
        name: the tensor's name.
        shape: its shape.
        kind: its type in TensorType.
        buffer: the index of its values; 0 for none.
        scales: the scale of all 8-bit values, or of each row.
        signature: the shape with -1 for dimensions that depend on the call.
    """
    made = schema.TensorT()
    made.name, made.type, made.buffer, made.hasRank = name, kind, buffer, True
    made.shape = np.array(shape, np.int32)
    made.shapeSignature = None if signature is None else np.array(signature, np.int32)
    if scales is not None:
        made.quantization = schema.QuantizationParametersT()
        made.quantization.scale = scales.astype(np.float32)
        made.quantization.zeroPoint = np.zeros(len(scales), np.int64)
        made.quantization.quantizedDimension = 0
    graph.tensors.append(made)
    return len(graph.tensors) - 1


def operation(model: Any, code: int, inputs: list[int], output: int, kind: int = 0, options: Any = None) -> Any:
    """Return an operation for a subgraph, and add its code to the model if it is missing."""
    codes, version = model.operatorCodes, READS_INT8.get(code, 1)
    index = next((i for i, o in enumerate(codes) if o.builtinCode == code and o.version >= version), None)
    if index is None:
        index = len(codes)
        codes.append(schema.OperatorCodeT(deprecatedBuiltinCode=min(code, 127), builtinCode=code, version=version))
    made = schema.OperatorT()
    made.opcodeIndex = index
    made.inputs, made.outputs = np.array(inputs, np.int32), np.array([output], np.int32)
    made.builtinOptionsType, made.builtinOptions = kind, options
    return made


def product(model: Any, first: int, second: int, output: int) -> Any:
    """Return the operation that multiplies two tensors by component."""
    return operation(model, MUL, [first, second], output, schema.BuiltinOptions.MulOptions, schema.MulOptionsT())
