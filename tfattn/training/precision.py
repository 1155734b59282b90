"""The choice of a precision, and the block in which layers use it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import keras
import tensorflow as tf

POLICIES = {"float32": "float32", "bfloat16": "mixed_bfloat16", "float16": "mixed_float16"}
FIRST_GPU_WITH_BFLOAT16 = (8, 0)  # its compute capability


def fastest() -> tuple[str, str]:
    """Choose `bfloat16` where the hardware multiplies it faster than float32, else `float32`; return the reason too.

    That holds for NVIDIA GPUs from Ampere on and for processors with AMX. Of those that only have AVX-512's bfloat16
    instructions, AMD's run them at twice the speed of float32, Intel's more slowly than float32.
    """
    gpus = tf.config.list_physical_devices("GPU")
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
def computing_in(precision: str) -> Iterator[None]:
    """Make layers that are constructed within the block compute in a precision, a key of `POLICIES`."""
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(POLICIES[precision])
    try:
        yield
    finally:
        keras.config.set_dtype_policy(before)
