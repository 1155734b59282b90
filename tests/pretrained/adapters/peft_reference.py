"""Run peft on a base: python peft_reference.py CLASS BASE ADAPTER IN.npz OUT.npz [MODULE ...].

With modules an adapter is made for them and saved in ADAPTER; its values follow from the names of the tensors. OUT has
the output with the adapter, `unmerged`, and after it is merged, `merged`. A program of its own, as torch and TensorFlow
conflict in one process.
"""

import sys
from pathlib import Path

import numpy as np
import peft
import torch
import transformers
from safetensors.numpy import load_file, save_file

from benchmarks.architecture_reference import tensor
from tests.pretrained.adapters import SETTINGS

name, base, adapter, inputs, outputs, *modules = sys.argv[1:]


def load_base():
    """Load the base."""
    kind = getattr(transformers, name)
    return kind.from_pretrained(base, dtype=torch.float32, attn_implementation="eager").eval()


if modules:
    peft.get_peft_model(load_base(), peft.LoraConfig(target_modules=modules, **SETTINGS)).save_pretrained(adapter)
    path = Path(adapter) / "adapter_model.safetensors"
    save_file({key: tensor(key, value.shape) for key, value in load_file(path).items()}, path, {"format": "pt"})
model = peft.PeftModel.from_pretrained(load_base(), adapter).eval()
features = {key: torch.tensor(value) for key, value in np.load(inputs).items()}
found = {}
with torch.no_grad():
    for kind in ("unmerged", "merged"):
        answer = model(**features, output_hidden_states=True)
        found[kind] = (
            answer.hidden_states[-1] if "token_type_ids" in features or "attention_mask" in features else answer.logits
        ).numpy()
        model = model.merge_and_unload() if kind == "unmerged" else model
np.savez(outputs, **found)
