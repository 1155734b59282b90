"""The LiteRT files of an export: written, compared with the trained model, and described."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tfattn import console, files
from tfattn.export import litert_gate, parity
from tfattn.export.litert_gate import Gate, Metrics
from tfattn.export.network_split import Split
from tfattn.export.section import Export
from tfattn.export.servable_model import ServableModel
from tfattn.litert.converter import convert
from tfattn.litert.model_file import FOLDER, add_metadata


def write(
    served: ServableModel,
    parts: Sequence[Split],
    folder: Path,
    *,
    name: str,
    section: Export,
    rows: Sequence[Mapping[str, str]],
    expected: Mapping[str, np.ndarray],
    metrics: Metrics | None = None,
) -> dict[str, Any]:
    """Write `assets.extra/litert/NAME_float32.tflite`, and a file with smaller weights if it passes the gate.

    The files contain the description of the model and the assets of the SavedModel, such as the vocabulary, so that an
    app needs one file.

    Args:
        served: the exported model.
        parts: the parts of each signature that LiteRT computes, serving_default first.
        folder: the version's folder, with the SavedModel.
        name: the model's name.
        section: the `export:` section.
        rows: raw validation rows.
        expected: predictions of the trained model for the rows.
        metrics: returns the metrics of predictions of the rows; None if the task has no such metrics.

    Returns:
        the report of each precision, for parity.json and the card.

    Raises:
        ExportError: LiteRT cannot compute the model, or the file with float32 weights predicts differently.
    """
    (folder / FOLDER).mkdir(parents=True)
    with console.step("converting to LiteRT"):
        content = convert({part.name: part.network for part in parts}, weights=served.weights)
    assets = {path.name: path.read_bytes() for path in sorted((folder / "assets").iterdir())}
    assets |= served.preprocessors[0].tables
    description = {"version": 1, "model": name, "export": identity(folder), **_interface(served, parts[0])}

    def add(precision: str, content: bytes, report: Mapping[str, Any]) -> Path:
        path = folder / FOLDER / f"{name}_{precision}.tflite"
        path.write_bytes(add_metadata(content, {**description, "precision": precision, "gate": dict(report)}, assets))
        console.note(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB")
        return path

    path = add("float32", content, {})
    chosen = np.linspace(0, len(rows) - 1, min(section.parity_rows, len(rows))).astype(int)
    report = parity.check(
        served,
        folder,
        rows=[rows[index] for index in chosen],
        expected={name: np.asarray(values)[chosen] for name, values in expected.items()},
        tolerance=section.tolerance,
        litert=path,
    )
    reports = {"float32": report}
    if section.litert_precision != "float32":
        with tempfile.TemporaryDirectory() as scratch, console.step(f"quantizing to {section.litert_precision}"):
            options = {"rows": rows, "expected": expected, "tolerance": section.tolerance, "metrics": metrics}
            result = Gate(served, parts[0], **options, scratch=Path(scratch)).passed(content)
        reports[section.litert_precision] = result.report
        if result.report["passed"]:
            console.note(f"{section.litert_precision} passed: {litert_gate.words(result.report)}")
            add(section.litert_precision, result.content, result.report)
        else:
            console.note(
                f"{section.litert_precision} was not written, because it predicts worse than the trained model: "
                f"{litert_gate.words(result.report)} (allowed loss: {litert_gate.MAX_LOSS:.1%}). The LiteRT file with "
                "float32 weights was written."
            )
    return reports


def identity(folder: Path) -> str:
    """Compute the identity of a SavedModel, which its LiteRT files name: the SHA-256 of its graph and weights."""
    paths = [folder / "saved_model.pb", *sorted((folder / "variables").iterdir())]
    return files.digest({str(path.relative_to(folder)): files.sha256(path) for path in paths})


def _interface(served: ServableModel, parts: Split) -> dict[str, Any]:
    """Return the task, and the inputs and outputs of the network, for apps."""
    metadata = served.metadata()
    network = parts.network.get_concrete_function()
    return {
        "task": served.name,
        "inputs": {spec.name: _shape(spec) for spec in parts.network.input_signature},
        "outputs": {name: _shape(tensor) for name, tensor in network.structured_outputs.items()},
        "raw_inputs": metadata["inputs"],
        "entries": metadata["entries"],
    }


def _shape(spec: Any) -> dict[str, Any]:
    return {"dtype": spec.dtype.name, "shape": [-1 if size is None else size for size in spec.shape]}
