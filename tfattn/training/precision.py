"""The precision of layers: the automatic choice, and the scope that sets it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import keras
import tensorflow as tf

POLICIES = {"float32": "float32", "bfloat16": "mixed_bfloat16", "float16": "mixed_float16"}
FIRST_GPU_WITH_BFLOAT16 = (8, 0)  # its compute capability


def fastest() -> tuple[str, str]:
    """Return `bfloat16` if the hardware multiplies it faster than float32, else `float32`, and the reason.

    bfloat16 is faster on NVIDIA GPUs since Ampere and on processors with AMX. With only the bfloat16 instructions of
    AVX-512, AMD processors are twice as fast as in float32, and Intel processors slower than in float32.
    """
    gpus = tf.config.get_visible_devices("GPU")
    if gpus:
        capability = tf.config.experimental.get_device_details(gpus[0]).get("compute_capability", (0, 0))
        is_faster, device = capability >= FIRST_GPU_WITH_BFLOAT16, "GPU"
    else:
        processor = Path("/proc/cpuinfo")
        words = set(processor.read_text().split()) if processor.is_file() else set()
        is_faster, device = "amx_bf16" in words or {"AuthenticAMD", "avx512_bf16"} <= words, "processor"
    if is_faster:
        return "bfloat16", f"this {device} multiplies it faster"
    return "float32", f"this {device} does not multiply bfloat16 faster"


@contextmanager
def precision_scope(precision: str) -> Iterator[None]:
    """Set the precision, a key of `POLICIES`, of all layers that are constructed within the block."""
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(POLICIES[precision])
    try:
        yield
    finally:
        keras.config.set_dtype_policy(before)
