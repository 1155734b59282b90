"""The speed at which kernels of TensorFlow read weights, in full precision and quantized: the bound of generation.

A step of generation multiplies one row, or a few, with each kernel once: its time is the time to read the kernels.
"""

from collections.abc import Callable

import numpy as np
import tensorflow as tf

from benchmarks.results import Table
from benchmarks.timing import medians

KERNELS, WIDTH, UNITS, ROUNDS = 24, 768, 3072, 15
ROWS = (1, 8)


def main() -> list[Table]:
    """Multiply rows with many kernels, one after another."""
    kernels = [tf.random.normal((WIDTH, UNITS)) for _ in range(KERNELS)]
    rows = []
    for name, (bits, candidate) in candidates(kernels).items():
        size = KERNELS * WIDTH * UNITS * bits / 8
        seconds = medians({str(count): _of_rows(candidate, count) for count in ROWS}, rounds=ROUNDS)
        rows.append([name, *(f"{1000 * value:.1f}" for value in seconds.values())])
        rows[-1] += [f"{size / value / 1e9:.0f}" for value in seconds.values()]
    columns = ["", *(f"ms, {count} row{'s' * (count > 1)}" for count in ROWS), *(f"GB/s, {count}" for count in ROWS)]
    title = f"{KERNELS} kernels of {WIDTH} x {UNITS}, medians of {ROUNDS}"
    return [Table(title=title, columns=columns, rows=rows)]


def candidates(kernels: list[tf.Tensor]) -> dict[str, tuple[int, Callable]]:
    """Return the representations of kernels: the bits of a weight, and the products of rows (N, D) with all kernels."""
    whole = [tf.Variable(kernel) for kernel in kernels]
    half = [tf.Variable(tf.cast(kernel, tf.bfloat16)) for kernel in kernels]
    turned = [tf.Variable(tf.transpose(kernel)) for kernel in half]
    small = [tf.constant(np.clip(kernel * 30, -127, 127).astype("int8")) for kernel in kernels]
    quantized = [tf.bitcast(kernel, tf.qint8) for kernel in small]
    return {
        "float32": (32, lambda x: [tf.matmul(x, kernel) for kernel in whole]),
        "bfloat16": (16, lambda x: [tf.matmul(tf.cast(x, tf.bfloat16), kernel) for kernel in half]),
        "bfloat16, transposed": (
            16,
            lambda x: [tf.matmul(tf.cast(x, tf.bfloat16), kernel, transpose_b=True) for kernel in turned],
        ),
        "int8, cast to bfloat16": (
            8,
            lambda x: [tf.matmul(tf.cast(x, tf.bfloat16), tf.cast(kernel, tf.bfloat16)) for kernel in small],
        ),
        "int8, QuantizedMatMul": (8, lambda x: _quantized(x, quantized)),
    }


def _quantized(x: tf.Tensor, kernels: list[tf.Tensor]) -> list[tf.Tensor]:
    x, low, high = tf.raw_ops.QuantizeV2(input=x, min_range=-4.0, max_range=4.0, T=tf.quint8, mode="MIN_FIRST")
    options = {"min_a": low, "max_a": high, "min_b": -1.0, "max_b": 1.0, "bias": tf.zeros([UNITS])}
    options |= {"min_freezed_output": -100.0, "max_freezed_output": 100.0, "Toutput": tf.float32}
    multiply = tf.raw_ops.QuantizedMatMulWithBiasAndDequantize
    return [multiply(a=x, b=kernel, input_quant_mode="MIN_FIRST", **options) for kernel in kernels]


def _of_rows(candidate: Callable, count: int) -> Callable[[], None]:
    compiled = tf.function(candidate, autograph=False)
    x = tf.random.normal((count, WIDTH))
    return lambda: [product.numpy() for product in compiled(x)]
