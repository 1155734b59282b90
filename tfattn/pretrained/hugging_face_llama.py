"""A Llama folder of Hugging Face: config.json, model.safetensors, tokenizer.json."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from tfattn.pretrained import safetensors_file
from tfattn.pretrained.decoder_names import DecoderNames
from tfattn.pretrained.hugging_face_decoder import CONFIG, HuggingFaceDecoder
from tfattn.pretrained.safetensors_file import WEIGHTS

ROTARY_BASE = 10000.0  # the default of transformers
SIZES = {
    "vocabulary_size": "vocab_size",
    "hidden_dim": "hidden_size",
    "num_layers": "num_hidden_layers",
    "num_heads": "num_attention_heads",
    "intermediate_dim": "intermediate_size",
    "max_sequence_length": "max_position_embeddings",
    "epsilon": "rms_norm_eps",
    "initializer_range": "initializer_range",
}


class HuggingFaceLlama(HuggingFaceDecoder):
    """Weights as transformers' LlamaModel or LlamaForCausalLM saves them, with byte-level BPE tokens."""

    description = f"{CONFIG} with model_type llama, {WEIGHTS} and tokenizer.json (Hugging Face)"
    model_type = "llama"
    prefix = "model."
    names = DecoderNames(
        outer={"token": "embed_tokens", "norm": "norm", "output": "lm_head"},
        block="layers.{}.",
        parts={
            "attention_norm": ("input_layernorm",),
            "attention/qkv": ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
            "attention/output": ("self_attn.o_proj",),
            "feed_forward_norm": ("post_attention_layernorm",),
            "feed_forward/intermediate": ("mlp.gate_proj", "mlp.up_proj"),
            "feed_forward/output": ("mlp.down_proj",),
        },
    )

    def stated_sizes(self) -> dict[str, Any]:
        config = self._json(CONFIG)
        sizes = {ours: self._setting(config, theirs, CONFIG) for ours, theirs in SIZES.items()}
        self._check_integers(sizes)
        # Newer versions of transformers group the settings of rotary embeddings.
        rotation = config.get("rope_parameters") or {"rope_theta": config.get("rope_theta", ROTARY_BASE)}
        defaults = {
            "hidden_act": "silu",
            "head_dim": sizes["hidden_dim"] // sizes["num_heads"],
            "attention_bias": False,
            "mlp_bias": False,
            "rope_scaling": None,
        }
        self._require_defaults(config, defaults, CONFIG)
        self._require_defaults(rotation, {"rope_type": "default"}, CONFIG)
        return {
            **sizes,
            "num_key_value_heads": config.get("num_key_value_heads") or sizes["num_heads"],
            "positions": "rotary",
            "rotary_base": self._setting(rotation, "rope_theta", CONFIG),
            "normalization": "rms_norm",
            "activation": "swiglu",
            "use_bias": False,
            "tied": config.get("tie_word_embeddings", False),
            "dropout": 0.0,
            "attention_dropout": config.get("attention_dropout", 0.0),
        }

    def read(self, names: Iterable[str]) -> dict[str, np.ndarray]:
        tensors = safetensors_file.tensors(self.folder, names)
        # PyTorch linear layers have (outputs, inputs).
        return {name: value.T if "_proj." in name else value for name, value in tensors.items()}
