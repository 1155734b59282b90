"""Runs one of transformers' BERTs on a folder: python bert_reference.py CLASS FOLDER INPUTS.npz OUTPUTS.npz.

It is a program of its own, because torch's compiler and TensorFlow cannot be loaded into one process.
"""

import sys

import numpy as np
import torch
import transformers

name, folder, inputs, outputs = sys.argv[1:]
model = getattr(transformers, name).from_pretrained(folder).eval()
features = {name: torch.tensor(value.astype("int64")) for name, value in np.load(inputs).items()}
with torch.no_grad():
    answer = model(
        input_ids=features["token_ids"],
        attention_mask=features["padding_mask"],
        token_type_ids=features["segment_ids"],
        output_hidden_states=True,
    )
states = torch.stack(answer.hidden_states).numpy()
others = {name: value.numpy() for name, value in answer.items() if name != "hidden_states"}
np.savez(outputs, hidden_states=states, **others)
