"""Runs one of transformers' decoders on a folder: python decoder_reference.py CLASS FOLDER IDS.npy LOGITS.npy.

It is a program of its own, because torch's compiler and TensorFlow cannot be loaded into one process. Of a folder that
has a configuration alone it makes random weights first, and saves them there.
"""

import sys
from pathlib import Path

import numpy as np
import torch
import transformers

name, folder, ids, logits = sys.argv[1:]
kind = getattr(transformers, name)
if not (Path(folder) / "model.safetensors").exists():
    config = transformers.AutoConfig.from_pretrained(folder)
    config.initializer_range = 0.3  # with logits that differ
    kind(config).save_pretrained(folder)
with torch.no_grad():
    answer = kind.from_pretrained(folder, dtype=torch.float32).eval()(input_ids=torch.tensor(np.load(ids)))
np.save(logits, answer.logits.numpy())
