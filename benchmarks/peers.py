"""Peers are run in processes of their own: PyTorch and TensorFlow do not share one well.

They need not share an environment: TORCH_PYTHON may name the Python of one with torch, transformers, scikit-learn.
"""

import functools
import os
import subprocess
import sys

TORCH_PYTHON = os.environ.get("TORCH_PYTHON", sys.executable)


@functools.cache
def has_transformers() -> bool:
    """Whether transformers can be compared with: with torch, it is not among what tfattn needs."""
    command = [TORCH_PYTHON, "-c", "import torch, transformers"]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


def last_line(script: str, *arguments: object) -> str:
    """What a Python script prints last."""
    python = TORCH_PYTHON if "torch" in script else sys.executable
    command = [python, "-c", script, *map(str, arguments)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout.splitlines()[-1]
