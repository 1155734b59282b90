"""Programs that read a written model in a fresh process, without tfattn."""

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tfattn.errors import ExportError


def missing(packages: Sequence[str]) -> list[str]:
    """Return the packages that are not installed; nothing is imported."""
    return [name for name in packages if importlib.util.find_spec(name) is None]


def run(program: str, request: Mapping[str, Any], folder: Path, *, result: str) -> tuple[Path | None, str]:
    """Run a program of this folder on a request, on the CPU and without a connection to the hub.

    Args:
        program: the name of its file.
        request: its request.
        folder: a folder for the request and the result.
        result: the name of the file of the result.

    Returns:
        the path of the result, None if the program failed; and the last line of its errors.
    """
    path, written = folder / "request.json", folder / result
    path.write_text(json.dumps(request), encoding="utf-8")
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "-1", "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-P", str(Path(__file__).with_name(program)), str(path), str(written)]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace", check=False)
    if ended.returncode:
        lines = ended.stderr.strip().splitlines() or [f"exit status {ended.returncode}"]
        return None, lines[-1][:300]
    return written, ""


def different(what: str, *, where: str, expected: str, received: str) -> ExportError:
    """Return the error of a written model that is not the model of the export."""
    remedy = "Nothing was written. Please report this."
    return ExportError(what, where=where, expected=expected[:300], received=received[:300], remedy=remedy)
