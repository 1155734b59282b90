"""A GPT-2 folder of Hugging Face: config.json, model.safetensors, tokenizer.json or vocab.json and merges.txt."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from tfattn.pretrained import safetensors_file
from tfattn.pretrained.decoder_names import DecoderNames
from tfattn.pretrained.hugging_face_decoder import CONFIG, HuggingFaceDecoder
from tfattn.pretrained.safetensors_file import WEIGHTS

SIZES = {
    "vocabulary_size": "vocab_size",
    "hidden_dim": "n_embd",
    "num_layers": "n_layer",
    "num_heads": "n_head",
    "num_key_value_heads": "n_head",
    "max_sequence_length": "n_positions",
    "dropout": "resid_pdrop",
    "attention_dropout": "attn_pdrop",
    "epsilon": "layer_norm_epsilon",
    "initializer_range": "initializer_range",
}
DEFAULTS = {
    "scale_attn_weights": True,
    "scale_attn_by_inverse_layer_idx": False,
    "add_cross_attention": False,
    "tie_word_embeddings": True,
}
ACTIVATIONS = {
    "gelu_new": "gelu_approximate",
    "gelu_pytorch_tanh": "gelu_approximate",
    "gelu": "gelu",
    "relu": "relu",
}


class HuggingFaceGpt2(HuggingFaceDecoder):
    """Weights as transformers' GPT2Model or GPT2LMHeadModel saves them."""

    description = f"{CONFIG} with model_type gpt2, {WEIGHTS}, and vocab.json with merges.txt (Hugging Face)"
    model_type = "gpt2"
    prefix = "transformer."
    names = DecoderNames(
        outer={"token": "wte", "position": "wpe", "norm": "ln_f"},
        block="h.{}.",
        parts={
            "attention_norm": ("ln_1",),
            "attention/qkv": ("attn.c_attn",),
            "attention/output": ("attn.c_proj",),
            "feed_forward_norm": ("ln_2",),
            "feed_forward/intermediate": ("mlp.c_fc",),
            "feed_forward/output": ("mlp.c_proj",),
        },
    )

    def stated_sizes(self) -> dict[str, Any]:
        config = self._json(CONFIG)
        self._require_defaults(config, DEFAULTS, CONFIG)
        sizes = {ours: self._setting(config, theirs, CONFIG) for ours, theirs in SIZES.items()}
        return {
            **sizes,
            "intermediate_dim": config.get("n_inner") or 4 * sizes["hidden_dim"],
            "positions": "learned",
            "activation": self._setting(config, "activation_function", CONFIG, ACTIVATIONS),
        }

    def read(self, names: Iterable[str]) -> dict[str, np.ndarray]:
        return safetensors_file.tensors(self.folder, names)  # GPT-2's linear layers have (inputs, outputs) already
