"""Runs transformers' DistilBERT: python distilbert_reference.py STATE.npz INPUTS.npz OUTPUTS.npy.

It is a program of its own, because torch's compiler and TensorFlow cannot be loaded into one process.
"""

import sys

import numpy as np
import torch
from transformers import DistilBertConfig, DistilBertModel

state = {name: torch.tensor(value) for name, value in np.load(sys.argv[1]).items()}
features = {name: torch.tensor(value.astype("int64")) for name, value in np.load(sys.argv[2]).items()}
tokens, width = state["embeddings.word_embeddings.weight"].shape
config = DistilBertConfig(
    vocab_size=tokens,
    dim=width,
    n_layers=1 + max(int(name.split(".")[2]) for name in state if name.startswith("transformer.")),
    n_heads=width // 64,
    hidden_dim=len(state["transformer.layer.0.ffn.lin1.bias"]),
    max_position_embeddings=len(state["embeddings.position_embeddings.weight"]),
)
model = DistilBertModel(config).eval()
model.load_state_dict(state)
with torch.no_grad():
    answer = model(input_ids=features["token_ids"], attention_mask=features["padding_mask"]).last_hidden_state
np.save(sys.argv[3], answer.numpy())
