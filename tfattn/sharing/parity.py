"""The comparison of a written folder with its export: transformers reads it in a fresh process."""

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from tfattn import console
from tfattn.errors import ExportError
from tfattn.features import PADDING_MASK
from tfattn.sharing import worker
from tfattn.sharing.heads import Head
from tfattn.sharing.probes import Probe
from tfattn.tasks.task import Task

PROGRAM = "transformers_worker.py"
NEEDED = ("transformers", "torch")
TOLERANCE = 1e-4


def check(folder: Path, task: Task, head: Head, probe: Probe) -> str:
    """Compare the ids and logits of transformers with those of the export.

    Args:
        folder: the written folder.
        task: the task of the export.
        head: its head in transformers.
        probe: the inputs.

    Returns:
        a sentence about the result, also if transformers is not installed.

    Raises:
        ExportError: transformers cannot load the folder, or an id or a logit differs.
    """
    if missing := worker.missing(NEEDED):
        sentence = f"Not compared with transformers: {' and '.join(missing)} not installed."
        console.note(f"{sentence} To compare: pip install transformers torch")
        return sentence
    with console.step("comparing with transformers in a fresh process"):
        received = _ask(folder, head, probe)
        expected = _logits(task, head, probe)
    ids = json.loads(str(received["ids"]))
    for texts, ours, theirs in zip(probe.texts, probe.ids, ids, strict=True):
        if ours != theirs:
            raise _different(repr(texts), f"the ids {ours}", str(theirs))
    outputs = [received[name] for name in head.output]
    logits = outputs[0] if len(outputs) == 1 else np.stack(outputs, axis=-1)
    if logits.shape != expected.shape:
        raise _different("the logits", f"the shape {expected.shape}", str(logits.shape))
    differences = np.abs(logits - expected)
    mask = probe.features.get(PADDING_MASK)
    if mask is not None and mask.shape == differences.shape[:2]:
        differences = differences[mask]
    largest = float(differences.max())
    if not largest <= TOLERANCE:  # NaN counts as different
        raise _different("the logits", f"a largest difference of {TOLERANCE:g}", f"{largest:.3g}")
    counted = f"the ids of {len(ids)} texts are equal and " if ids else ""
    sentence = f"{counted}logits differ by at most {largest:.2g} (allowed: {TOLERANCE:g})"
    console.note(f"parity with transformers: {sentence}")
    return f"Compared with {received['versions']}: {sentence}."


def _ask(folder: Path, head: Head, probe: Probe) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as scratch:
        inputs = Path(scratch) / "inputs.npz"
        np.savez(inputs, **probe.inputs)
        request = {
            "folder": str(folder.absolute()),
            "auto_class": head.auto_class,
            "inputs": str(inputs),
            "texts": probe.texts,
            "max_length": probe.max_length,
        }
        path, failure = worker.run(PROGRAM, request, Path(scratch), result="result.npz")
        if path is None:
            raise _different(head.auto_class, "a folder that it loads", failure)
        return dict(np.load(path))


def _logits(task: Task, head: Head, probe: Probe) -> np.ndarray:
    outputs = task.model(probe.features) if head.reads_model else task(probe.task_features)
    return np.asarray(head.logits(outputs), "float32")


def _different(where: str, expected: str, received: str) -> ExportError:
    what = "transformers does not compute the same as the export"
    return worker.different(what, where=where, expected=expected, received=received)
