"""Writes the files of this folder; needs torch, transformers and peft: python -m tests.pretrained.adapters."""

import json
import sys
import tempfile
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

from benchmarks.architecture_reference import WEIGHTS
from tests.pretrained.adapters import CASES, FOLDER, run_reference, write_base

for name in sys.argv[1:] or CASES:
    with tempfile.TemporaryDirectory() as path:
        base, adapter = write_base(Path(path) / "base", CASES[name]), Path(path) / "adapter"
        output = run_reference(CASES[name], base, adapter, *CASES[name].modules)["unmerged"]
        config = json.loads((adapter / "adapter_config.json").read_text())
        config["base_model_name_or_path"] = "base"
        tensors = {key: value.shape for key, value in load_file(adapter / f"adapter_{WEIGHTS}").items()}
    content = {"config": config, "tensors": tensors, "output": np.round(output.astype("float64"), 6).tolist()}
    lines = [f"{json.dumps(key)}: {json.dumps(value, separators=(',', ':'))}" for key, value in content.items()]
    (FOLDER / f"{name}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
