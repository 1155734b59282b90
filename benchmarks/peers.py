"""Peers are run in processes of their own: PyTorch and TensorFlow do not share one well."""

import importlib.util
import subprocess
import sys


def has_transformers() -> bool:
    """Whether transformers can be compared with: with torch, it is not among what tfattn needs."""
    return all(importlib.util.find_spec(name) for name in ("transformers", "torch"))


def last_line(script: str, *arguments: object) -> str:
    """What a Python script prints last."""
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1]
