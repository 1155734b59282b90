"""Writes the files of this folder; needs torch and transformers: python -m tests.pretrained.decoder_logits."""

import json
import tempfile
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

from benchmarks.decoders import DECODERS, run_reference
from tests.pretrained.decoder_logits import path

for name, decoder in DECODERS.items():
    with tempfile.TemporaryDirectory() as folder:
        logits = np.round(run_reference(decoder, Path(folder)).astype("float64"), 6).tolist()
        tensors = {key: value.shape for key, value in load_file(Path(folder) / "model.safetensors").items()}
    path(name).write_text(json.dumps({"tensors": tensors, "logits": logits}) + "\n")
