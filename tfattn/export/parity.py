"""Does the export predict as the trained model did? Asked in a fresh process that knows nothing of tfattn."""

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
from tfattn.export.served import Served

WORKER = Path(__file__).with_name("parity_worker.py")
BATCH_SIZE = 32


def check(
    served: Served,
    folder: Path,
    *,
    rows: Sequence[Mapping[str, str]],
    expected: Mapping[str, np.ndarray],
    tolerance: float,
) -> dict[str, Any]:
    """Compare the predictions of a SavedModel with those of the trained model.

    Args:
        served: what was exported.
        folder: the version's folder.
        rows: N raw rows; `row` says where one stands.
        expected: what the trained model predicted for these rows, N values by name.
        tolerance: how far a number may lie off.

    Returns:
        the report: `rows`, `tolerance`, `tensorflow`, and the report of `served.compared`.

    Raises:
        ExportError: the export cannot be loaded, needs operations that a plain TensorFlow with tensorflow-text does not
            have, or predicts otherwise; names the first row that differs.
    """
    request = served.request(rows)
    received, version = _ask(folder, request)
    comparison = served.compared({**request, **expected}, received, tolerance=tolerance)
    console.note(f"parity in a fresh process: {comparison.words}")
    wrong = np.flatnonzero(comparison.wrong)
    if len(wrong):
        first = int(wrong[0])
        raise ExportError(
            f"the export does not predict as the trained model did on {len(wrong)} of {len(rows)} rows",
            where=rows[first].get("row", f"validation row {first}"),
            expected=comparison.expected(first),
            received=comparison.received(first),
            remedy="It was not kept. Compare how the rows were prepared with how the export reads them.",
        )
    return {"rows": len(rows), **comparison.report, "tolerance": tolerance, "tensorflow": version}


def _in_base64(data: bytes) -> dict[str, str]:
    return {"b64": base64.b64encode(data).decode()}


def _ask(folder: Path, rows: Mapping[str, Sequence[Any]]) -> tuple[dict[str, list[Any]], str]:
    """Return the predictions by output, and the version of TensorFlow that gave them."""
    with tempfile.TemporaryDirectory() as scratch:
        request, result = Path(scratch) / "request.json", Path(scratch) / "result.json"
        request.write_text(json.dumps({"batch_size": BATCH_SIZE, "rows": rows}, default=_in_base64))
        # On the CPU: the accelerator belongs to this process, and may round differently.
        environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "2"}
        command = [sys.executable, "-I", str(WORKER), str(folder), str(request), str(result)]
        ended = subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace", check=False)
        if ended.returncode:
            lines = ended.stderr.strip().splitlines() or [f"exit status {ended.returncode}"]
            raise ExportError(
                "the export does not run in a plain TensorFlow with tensorflow-text",
                where=str(folder),
                received=lines[-1],
                remedy="It was not kept.",
            )
        told = json.loads(result.read_text())
    if told["unknown_operations"]:
        raise ExportError(
            "the export needs operations that a TensorFlow model server does not have",
            expected="operations of TensorFlow and tensorflow-text",
            received=", ".join(told["unknown_operations"]),
            remedy="It was not kept. Write the layer with operations of TensorFlow.",
        )
    return told["predictions"], told["tensorflow"]
