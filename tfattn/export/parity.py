"""Does the export answer as the trained model did? Asked in a fresh process that knows nothing of tfattn."""

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

WORKER = Path(__file__).with_name("parity_worker.py")
BATCH_SIZE = 32


def check(
    folder: Path,
    *,
    rows: Sequence[Mapping[str, str]],
    request: Mapping[str, Sequence[Any]],
    expected: Mapping[str, np.ndarray],
    labels: Sequence[str],
    tolerance: float,
) -> dict[str, Any]:
    """Holds a SavedModel against what the trained model answered.

    Args:
        folder: the version's folder.
        rows: N raw rows; `row` says where one stands.
        request: these rows as the export takes them, N values by input.
        expected: the trained model's `label_ids` (N,) and `scores` (N, C) for these rows.
        labels: the C label names.
        tolerance: how far a score may lie off.

    Returns:
        the report: `rows`, `label_agreement`, `max_score_difference`, `tolerance`, `tensorflow`.

    Raises:
        ExportError: the export cannot be loaded, needs operations that a plain TensorFlow with tensorflow-text does not
            have, or answers otherwise; names the first row that differs.
    """
    received = _ask(folder, request)
    expected_ids, expected_scores = np.asarray(expected["label_ids"]), np.asarray(expected["scores"], np.float64)
    scores = np.asarray(received["scores"], np.float64).reshape(len(expected_ids), -1)
    if scores.shape != expected_scores.shape:
        raise ExportError(
            "the export answers in another shape", expected=str(expected_scores.shape), received=str(scores.shape)
        )
    differences = np.abs(scores - expected_scores).max(axis=1)
    agree = np.asarray([labels[index] for index in expected_ids]) == np.asarray(received["label"])
    agree &= expected_ids == np.asarray(received["label_id"])
    report = {
        "rows": len(expected_ids),
        "label_agreement": float(agree.mean()),
        "max_score_difference": float(differences.max()),
        "tolerance": tolerance,
        "tensorflow": received["tensorflow"],
    }
    _show(report)
    wrong = np.flatnonzero(~agree | ~(differences <= tolerance))  # so written, NaN is wrong too
    if len(wrong):
        first = wrong[0]
        raise ExportError(
            f"the export does not answer as the trained model did on {len(wrong)} of {len(agree)} rows",
            where=rows[first].get("row", f"validation row {first}"),
            expected=f"{labels[expected_ids[first]]!r} and scores within {tolerance:g}",
            received=f"{received['label'][first]!r} and a score off by {differences[first]:.3g}",
            remedy="It was not kept. Compare how the rows were prepared with how the export reads them.",
        )
    return report


def _ask(folder: Path, rows: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as scratch:
        request, result = Path(scratch) / "request.json", Path(scratch) / "result.json"
        request.write_text(json.dumps({"batch_size": BATCH_SIZE, "rows": rows}))
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
        answered = json.loads(result.read_text())
    if answered["unknown_operations"]:
        raise ExportError(
            "the export needs operations that a TensorFlow model server does not have",
            expected="operations of TensorFlow and tensorflow-text",
            received=", ".join(answered["unknown_operations"]),
            remedy="It was not kept. Write the layer with operations of TensorFlow.",
        )
    return {**answered["answers"], "tensorflow": answered["tensorflow"]}


def _show(report: dict[str, Any]) -> None:
    agreeing = round(report["label_agreement"] * report["rows"])
    console.note(
        f"parity in a fresh process: labels agree on {agreeing} of {report['rows']} rows, "
        f"scores differ by at most {report['max_score_difference']:.2g} (allowed: {report['tolerance']:g})"
    )
