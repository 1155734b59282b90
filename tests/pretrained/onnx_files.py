"""A writer of small ONNX files: initializers, quantized initializers and the multiplications that read them."""

import struct

import numpy as np

from tfattn.files import protobuf

TYPES = {"float32": 1, "uint8": 2, "int8": 3, "int64": 7}


def field(number: int, value: int | bytes | str) -> bytes:
    if isinstance(value, int):
        return protobuf.number_field(number, value)
    return protobuf.text_field(number, value.encode() if isinstance(value, str) else value)


def tensor(name: str, value: np.ndarray, *, raw: bool = True) -> bytes:
    """A TensorProto; without `raw`, values are in float_data or int32_data, as exporters write scalars."""
    head = field(1, b"".join(map(protobuf.varint, value.shape))) + field(2, TYPES[value.dtype.name])
    if raw:
        content = field(9, value.tobytes())
    elif value.dtype == np.float32:
        content = field(4, struct.pack(f"<{value.size}f", *value.ravel().tolist()))
    else:
        content = field(5, b"".join(protobuf.varint(int(number) % 2**64) for number in value.ravel()))
    return field(5, head + content + field(8, name))


def node(operation: str, name: str, inputs: list[str], outputs: list[str]) -> bytes:
    names = [*(field(1, each) for each in inputs), *(field(2, each) for each in outputs)]
    return field(1, b"".join(names) + field(3, name) + field(4, operation))


def quantize(value: np.ndarray) -> tuple[np.ndarray, np.float32, int]:
    """Return int8 values, their scale and their zero point."""
    low, high = min(0.0, float(value.min())), max(0.0, float(value.max()))
    scale = max(high - low, 1e-6) / 255
    zero = int(np.clip(round(-128 - low / scale), -128, 127))
    return np.clip(np.round(value / scale) + zero, -128, 127).astype("int8"), np.float32(scale), zero


def dequantized(value: np.ndarray) -> np.ndarray:
    """Return a value as it is after quantization."""
    values, scale, zero = quantize(value)
    return (values.astype("int32") - zero) * scale


def quantized(name: str, value: np.ndarray) -> list[bytes]:
    """A quantized tensor and the node that dequantizes it."""
    values, scale, zero = quantize(value)
    parts = (f"{name}_quantized", f"{name}_scale", f"{name}_zero_point")
    return [
        tensor(parts[0], values),
        tensor(parts[1], np.array(scale, "float32"), raw=False),
        tensor(parts[2], np.array(zero, "int8"), raw=False),
        node("DequantizeLinear", f"{name}_DequantizeLinear", [*parts], [f"{name}_DequantizeLinear_Output"]),
    ]


def model(parts: list[bytes]) -> bytes:
    """A ModelProto with a graph of these parts."""
    return field(1, 8) + field(7, b"".join(parts)) + field(8, field(2, 17))
