"""Tensors of ONNX files: names, types, dequantization, and damaged files."""

import numpy as np
import pytest

from tests.pretrained import onnx_files as onnx
from tfattn.errors import CheckpointError
from tfattn.pretrained.onnx_file import OnnxFile

DRAW = np.random.default_rng(3)
KERNEL = DRAW.normal(size=(4, 6)).astype("float32")
BIAS = DRAW.normal(size=6).astype("float32")


@pytest.fixture
def opened(tmp_path):
    def write(content: bytes) -> OnnxFile:
        (tmp_path / "model.onnx").write_bytes(content)
        return OnnxFile(tmp_path / "model.onnx")

    return write


@pytest.mark.parametrize("raw", [True, False])
def test_floats_keep_their_names(opened, raw):
    file = opened(onnx.model([onnx.tensor("dense.bias", BIAS, raw=raw), onnx.tensor("shape", np.array([1, 2]))]))
    assert file.shapes() == {"dense.bias": (6,)}
    np.testing.assert_array_equal(file.read(["dense.bias"])["dense.bias"], BIAS)


def test_a_matrix_has_the_name_of_its_multiplication(opened):
    matrix = onnx.tensor("onnx::MatMul_7", KERNEL)
    file = opened(onnx.model([matrix, onnx.node("MatMul", "/layer.0/dense/MatMul", ["x", "onnx::MatMul_7"], ["y"])]))
    np.testing.assert_array_equal(file.read(["layer.0.dense.weight"])["layer.0.dense.weight"], KERNEL)


def test_quantized_tensors_are_dequantized(opened):
    parts = [*onnx.quantized("table", KERNEL), *onnx.quantized("onnx::MatMul_7", KERNEL + 3)]
    multiply = onnx.node("MatMul", "/dense/MatMul", ["x", "onnx::MatMul_7_DequantizeLinear_Output"], ["y"])
    found = opened(onnx.model([*parts, multiply])).read(["table", "dense.weight"])
    np.testing.assert_allclose(found["table"], onnx.dequantized(KERNEL), rtol=1e-6)
    np.testing.assert_allclose(found["table"], KERNEL, atol=0.02)
    np.testing.assert_allclose(found["dense.weight"], KERNEL + 3, atol=0.03)
    assert all(value.dtype == np.float32 for value in found.values())


def test_activations_are_not_tensors(opened):
    node = onnx.node("DequantizeLinear", "d", ["activation", "s", "z"], ["activation_output"])
    scale = onnx.tensor("s", np.array(0.1, "float32"))
    assert opened(onnx.model([scale, onnx.tensor("b", BIAS), node])).shapes() == {"b": (6,)}


def test_several_scales_are_refused(opened):
    parts = onnx.quantized("table", KERNEL)
    parts[1] = onnx.tensor("table_scale", np.full(6, 0.1, "float32"))
    with pytest.raises(
        CheckpointError, match=r"table_quantized: .*one scale .* for the tensor.*scales of shape \(6,\)"
    ):
        opened(onnx.model(parts)).read(["table"])


@pytest.mark.parametrize("content", [b"", b"no ONNX file at all", b"\xff" * 30, onnx.field(7, b"")])
def test_other_files_are_refused(opened, content):
    with pytest.raises(CheckpointError, match=r"model.onnx: cannot be read as ONNX: expected an ONNX file"):
        opened(content).shapes()


def test_truncated_files_are_refused(opened):
    whole = onnx.model([*onnx.quantized("table", KERNEL), onnx.tensor("dense.bias", BIAS)])
    for size in range(3, len(whole) - 4, 7):
        with pytest.raises(CheckpointError, match="cannot be read as ONNX"):
            opened(whole[:size]).shapes()


def test_a_tensor_without_its_values_is_refused(opened):
    shape = onnx.field(1, 4) + onnx.field(1, 1 << 40) + onnx.field(2, 1)
    content = onnx.model([onnx.field(5, shape + onnx.field(9, b"1234") + onnx.field(8, "table"))])
    with pytest.raises(
        CheckpointError, match=r"table: .*expected values of shape \(4, 1099511627776\), received 1 values"
    ):
        opened(content).shapes()
    outside = onnx.model([onnx.field(5, shape + onnx.field(8, "table"))])
    with pytest.raises(CheckpointError, match="received no values in the file"):
        opened(outside).shapes()
