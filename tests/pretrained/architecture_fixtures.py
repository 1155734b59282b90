"""Stored outputs of transformers for small architectures with random weights, in tests/pretrained/architectures.

`python -m tests.pretrained.architecture_fixtures [NAME ...]` computes them anew; TORCH_PYTHON may name the Python that
has torch and transformers. The values of the weights follow from their names, so a file has only their shapes.
"""

import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from benchmarks.architecture_reference import write_weights
from benchmarks.architectures import ARCHITECTURES, run_reference
from tfattn.pretrained.tensor_files import SafetensorsFile

FOLDER = Path(__file__).parent / "architectures"
STEP = 4  # every fourth position is stored
DIGITS = 6


def of(outputs: Mapping[str, np.ndarray], folder: Path) -> dict:
    """Return what is stored: the shapes of the tensors, and the logits and the top vectors at some positions."""
    shapes = SafetensorsFile(folder).shapes()
    found = {"sequence_output": outputs["hidden_states"][-1][:, ::STEP]}
    if outputs["logits"].ndim == 3:
        found["logits"] = outputs["logits"][:, ::STEP]
    values = {name: np.vectorize(lambda x: float(f"{x:.{DIGITS}g}"))(value).tolist() for name, value in found.items()}
    return {"tensors": {name: list(shape) for name, shape in sorted(shapes.items())}, **values}


def read(name: str) -> dict:
    """Read the stored file of an architecture."""
    return json.loads((FOLDER / f"{name}.json").read_text())


def write_folder(name: str, folder: Path, vocabulary_size: int | None = None) -> None:
    """Write the folder of an architecture, without transformers, for a vocabulary of another size if given."""
    config, shapes = dict(ARCHITECTURES[name].config), read(name)["tensors"]
    if vocabulary_size is not None:
        old, config["vocab_size"] = config["vocab_size"], vocabulary_size
        shapes = {tensor: [vocabulary_size if n == old else n for n in shape] for tensor, shape in shapes.items()}
    (folder / "config.json").write_text(json.dumps(config))
    write_weights(folder, shapes)


def main(names: list[str]) -> None:
    """Compute and store the outputs of architectures."""
    FOLDER.mkdir(exist_ok=True)
    for name in names or ARCHITECTURES:
        with tempfile.TemporaryDirectory() as path:
            stored = of(run_reference(ARCHITECTURES[name], Path(path)), Path(path))
        lines = [f"{json.dumps(key)}: {json.dumps(value, separators=(',', ':'))}" for key, value in stored.items()]
        (FOLDER / f"{name}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
