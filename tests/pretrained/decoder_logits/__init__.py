"""The logits of transformers for the decoders of benchmarks/decoders.py, and the shapes of their tensors."""

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


def path(name: str) -> Path:
    """Return the file of a decoder."""
    return FOLDER / f"{name.replace(', ', '_').replace(' ', '_')}.json"


def stored(name: str) -> dict[str, Any]:
    """Read `tensors`, the shape of each tensor, and `logits`."""
    return json.loads(path(name).read_text())
