"""Parity check: compare an export, loaded in a fresh process without tfattn, with the trained model."""

import base64
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tfattn import console
from tfattn.errors import ExportError
from tfattn.export.servable_model import ServableModel

WORKER = Path(__file__).with_name("parity_worker.py")
BATCH_SIZE = 32


def check(
    served: ServableModel,
    folder: Path,
    *,
    rows: Sequence[Mapping[str, str]],
    expected: Mapping[str, np.ndarray],
    tolerance: float,
    litert: Path | None = None,
) -> dict[str, Any]:
    """Compare the predictions of a SavedModel with those of the trained model.

    Args:
        served: the exported model.
        folder: the version's folder.
        rows: N raw rows; `row` is the location of a row.
        expected: predictions of the trained model for the rows, N values by name.
        tolerance: the largest allowed absolute difference of a number.
        litert: a LiteRT file that computes the networks instead of TensorFlow.

    Returns:
        the report: `rows`, `tolerance`, `tensorflow`, and the report of `served.compare`.

    Raises:
        ExportError: the export cannot be loaded, needs operations that TensorFlow with tensorflow-text does not have,
            or predicts differently; the error names the first row that differs.
    """
    request = served.request(rows)
    received, version = _ask(folder, request, litert)
    comparison = served.compare({**request, **expected}, received, tolerance=tolerance)
    engine = " with LiteRT" if litert else ""
    console.note(f"parity in a fresh process{engine}: {comparison.words}")
    wrong = np.flatnonzero(comparison.wrong)
    if len(wrong):
        first = int(wrong[0])
        raise ExportError(
            f"the export and the trained model predict differently on {len(wrong)} of {len(rows)} rows",
            where=rows[first].get("row", f"validation row {first}"),
            expected=comparison.expected(first),
            received=comparison.received(first),
            remedy="The export was discarded. Compare the preparation of the rows with the export's preprocessing.",
        )
    return {"rows": len(rows), **comparison.report, "tolerance": tolerance, "tensorflow": version}


def _in_base64(data: bytes) -> dict[str, str]:
    return {"b64": base64.b64encode(data).decode()}


def _ask(folder: Path, rows: Mapping[str, Sequence[Any]], litert: Path | None) -> tuple[dict[str, list[Any]], str]:
    """Return the outputs by name, and the version of TensorFlow."""
    with tempfile.TemporaryDirectory() as scratch:
        request, output = Path(scratch) / "request.json", Path(scratch) / "result.json"
        question = {"batch_size": BATCH_SIZE, "rows": rows, "litert": litert and str(litert)}
        request.write_text(json.dumps(question, default=_in_base64))
        # On the CPU: this process holds the accelerator, which may also round differently.
        environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "2"}
        command = [sys.executable, "-I", str(WORKER), str(folder), str(request), str(output)]
        ended = subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace", check=False)
        if ended.returncode:
            lines = ended.stderr.strip().splitlines() or [f"exit status {ended.returncode}"]
            raise ExportError(
                "the export does not run in a plain TensorFlow with tensorflow-text",
                where=str(folder),
                received=lines[-1],
                remedy="The export was discarded.",
            )
        result = json.loads(output.read_text())
    if result["unknown_operations"]:
        raise ExportError(
            "the export needs operations that a TensorFlow model server does not have",
            expected="operations of TensorFlow and tensorflow-text",
            received=", ".join(result["unknown_operations"]),
            remedy="The export was discarded. Write the layer with operations of TensorFlow.",
        )
    return result["predictions"], result["tensorflow"]
