"""Peers in separate processes, because PyTorch and TensorFlow conflict in one process.

TORCH_PYTHON may name the Python of another environment with torch, transformers and scikit-learn.
"""

import functools
import os
import subprocess
import sys

TORCH_PYTHON = os.environ.get("TORCH_PYTHON", sys.executable)


@functools.cache
def has_transformers() -> bool:
    """Return whether transformers and torch, which tfattn does not require, are installed."""
    command = [TORCH_PYTHON, "-c", "import torch, transformers"]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


def last_line(script: str, *arguments: object) -> str:
    """Run a Python script and return the last line of its output."""
    python = TORCH_PYTHON if "torch" in script else sys.executable
    command = [python, "-c", script, *map(str, arguments)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout.splitlines()[-1]
