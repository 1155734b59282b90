"""Runs transformers' ViTForImageClassification: python vit_reference.py FOLDER INPUTS.npz OUTPUTS.npz.

It is a program of its own, because torch's compiler and TensorFlow cannot be loaded into one process. Of a folder that
has a configuration alone it makes random weights first, and saves them there. Inputs are `images` (B, 3, Y, X) and
`larger`, such of another size.
"""

import sys
from pathlib import Path

import numpy as np
import torch
import transformers

folder, inputs, outputs = sys.argv[1:]
kind = transformers.ViTForImageClassification
torch.manual_seed(0)
if not (Path(folder) / "model.safetensors").exists():
    model = kind(transformers.AutoConfig.from_pretrained(folder))
    for weight in model.parameters():  # norms and biases too, and with logits that differ
        torch.nn.init.normal_(weight, std=0.5)
    model.save_pretrained(folder)
model = kind.from_pretrained(folder).eval()
images = {name: torch.tensor(value) for name, value in np.load(inputs).items()}
with torch.no_grad():
    logits = {name: model(x, interpolate_pos_encoding=name == "larger").logits.numpy() for name, x in images.items()}
    states = model.vit(images["images"]).last_hidden_state.numpy()
np.savez(outputs, last_hidden_state=states, **logits)
