"""Low-rank adapters of the package peft on small models of transformers, and the outputs of peft with them.

The values of all weights follow from the names of the tensors, so a file has only their shapes.
"""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

from benchmarks import architectures, decoders, peers
from benchmarks.architecture_reference import tensor, write_weights
from tests.pretrained import architecture_fixtures, decoder_logits

FOLDER = Path(__file__).parent
SETTINGS = {"r": 2, "lora_alpha": 3}


@dataclass(frozen=True)
class Case:
    """A base, and the modules that the adapter changes.

    Args:
        base: a name of benchmarks.architectures or benchmarks.decoders.
        modules: `target_modules` of peft.
    """

    base: str
    modules: tuple[str, ...]

    @property
    def is_decoder(self) -> bool:
        """Whether the base is a decoder."""
        return self.base in decoders.DECODERS

    @property
    def reference(self) -> str:
        """The class of transformers."""
        return self._known.reference

    @property
    def config(self) -> dict[str, Any]:
        """The content of config.json."""
        return dict(self._known.config)

    @property
    def inputs(self) -> dict[str, np.ndarray]:
        """The inputs of transformers."""
        return {"input_ids": decoders.token_ids()} if self.is_decoder else architectures.inputs(self._known)

    @property
    def _known(self) -> Any:
        return decoders.DECODERS[self.base] if self.is_decoder else architectures.ARCHITECTURES[self.base]


CASES = {
    "bert": Case("bert", ("query", "value", "intermediate.dense")),
    "deberta": Case("deberta_v2", ("query_proj", "key_proj", "attention.output.dense")),
    "modernbert": Case("modernbert", ("Wqkv", "Wi")),
    "gpt2": Case("gpt2", ("c_attn", "c_fc")),
    "gpt_neox": Case("gpt_neox", ("query_key_value", "dense_4h_to_h")),
    "llama": Case("llama", ("q_proj", "v_proj", "gate_proj", "up_proj", "down_proj")),
}


def stored(name: str) -> dict[str, Any]:
    """Read `config`, the adapter_config.json, `tensors`, the shape of each tensor, and `output`."""
    return json.loads((FOLDER / f"{name}.json").read_text())


def write_base(folder: Path, case: Case) -> Path:
    """Write the folder of the base of a case, without a tokenizer."""
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(case.config))
    known = decoder_logits.stored if case.is_decoder else architecture_fixtures.read
    write_weights(folder, known(case.base)["tensors"])
    return folder


def write_adapter(folder: Path, name: str) -> Path:
    """Write the folder of the adapter of a case, as peft has saved it."""
    folder.mkdir(exist_ok=True)
    found = stored(name)
    (folder / "adapter_config.json").write_text(json.dumps(found["config"]))
    tensors = {key: tensor(key, shape) for key, shape in found["tensors"].items()}
    save_file(tensors, folder / "adapter_model.safetensors", {"format": "pt"})
    return folder


def run_reference(case: Case, base: Path, adapter: Path, *modules: str) -> dict[str, np.ndarray]:
    """Compute the outputs of peft with an adapter, which is made for modules if they are given."""
    np.savez(base / "inputs.npz", **case.inputs)
    script = FOLDER / "peft_reference.py"
    files = (base, adapter, base / "inputs.npz", base / "outputs.npz")
    command = [peers.TORCH_PYTHON, str(script), case.reference, *map(str, files), *modules]
    paths = os.pathsep.join([str(Path.cwd()), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": paths}
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300, env=environment)
    if done.returncode:
        raise RuntimeError(done.stderr)
    with np.load(base / "outputs.npz") as found:
        return dict(found)
