"""Which numbers this machine computes fastest in."""

from pathlib import Path

import tensorflow as tf

POLICIES = {"float32": "float32", "bfloat16": "mixed_bfloat16", "float16": "mixed_float16"}
FIRST_GPU_WITH_BFLOAT16 = (8, 0)  # its compute capability


def fastest() -> str:
    """`bfloat16` where the hardware multiplies it faster than float32, else `float32`.

    That holds for NVIDIA GPUs from Ampere on and for processors with AMX. Of those that only have AVX-512's bfloat16
    instructions, AMD's run them at twice the speed of float32, Intel's more slowly than float32.
    """
    gpus = tf.config.list_physical_devices("GPU")
    if gpus:
        capability = tf.config.experimental.get_device_details(gpus[0]).get("compute_capability", (0, 0))
        return "bfloat16" if capability >= FIRST_GPU_WITH_BFLOAT16 else "float32"
    processor = Path("/proc/cpuinfo")
    words = set(processor.read_text().split()) if processor.is_file() else set()
    return "bfloat16" if "amx_bf16" in words or {"AuthenticAMD", "avx512_bf16"} <= words else "float32"
