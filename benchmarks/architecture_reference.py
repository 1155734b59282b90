"""Run a model of transformers with random weights: python architecture_reference.py CLASS FOLDER IN.npz OUT.npz.

FOLDER has a config.json. The names and shapes of the tensors are those that transformers saves; their values follow
from their names, see `tensor`. It is a program of its own, because torch and TensorFlow conflict in one process.
"""

import json
import sys
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

WEIGHTS = "model.safetensors"


def tensor(name: str, shape: Sequence[int]) -> np.ndarray:
    """Draw the values of a tensor, which depend on its name and shape only.

    The generator is NumPy's frozen one, whose numbers no version changes.
    """
    values = np.random.RandomState(zlib.crc32(name.encode())).standard_normal(tuple(shape)) * 0.3
    is_scale = len(shape) == 1 and name.endswith("weight")
    return (values + is_scale).astype("float32")


def write_weights(folder: Path, shapes: Mapping[str, Sequence[int]]) -> None:
    """Write the weights file of a folder, given the shape of each tensor."""
    save_file({name: tensor(name, shape) for name, shape in shapes.items()}, folder / WEIGHTS, {"format": "pt"})


def main(name: str, folder: Path, inputs: str, outputs: str) -> None:
    import torch
    import transformers

    torch.manual_seed(0)
    kind = getattr(transformers, name)
    config = transformers.AutoConfig.from_pretrained(folder)
    given = (folder / "config.json").read_text()
    kind(config).save_pretrained(folder)
    (folder / "config.json").write_text(given)  # as published: transformers writes more keys
    shapes = {name: value.shape for name, value in load_file(folder / WEIGHTS).items()}
    write_weights(folder, shapes)
    model, report = kind.from_pretrained(
        folder, dtype=torch.float32, output_loading_info=True, attn_implementation="eager"
    )
    wrong = {name: sorted(found) for name, found in report.items() if found}
    if wrong:
        sys.exit(f"tensors do not fit {name}: {json.dumps(wrong, default=str)}")
    features = {name: torch.tensor(value) for name, value in np.load(inputs).items()}
    with torch.no_grad():
        answer = model.eval()(**features, output_hidden_states=True)
    found = {name: value.numpy() for name, value in answer.items() if torch.is_tensor(value)}
    states = {name: np.stack([state.numpy() for state in answer[name]]) for name in answer if name.endswith("states")}
    np.savez(outputs, **found, **states)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:])
