"""A Marian folder of Hugging Face: config.json, model.safetensors, source.spm, target.spm and vocab.json."""

from collections.abc import Collection
from typing import Any

import numpy as np

from tfattn.pretrained.contract import TensorNames
from tfattn.pretrained.encoder_decoder import PublishedEncoderDecoder
from tfattn.pretrained.hugging_face import ACTIVATIONS, CONFIG
from tfattn.pretrained.hugging_face_pieces import read_marian
from tfattn.pretrained.tensor_files import SAFETENSORS

SIZES = {
    "vocabulary_size": "vocab_size",
    "hidden_dim": "d_model",
    "num_layers": "encoder_layers",
    "decoder_layers": "decoder_layers",
    "num_heads": "encoder_attention_heads",
    "intermediate_dim": "encoder_ffn_dim",
    "max_sequence_length": "max_position_embeddings",
    "dropout": "dropout",
    "attention_dropout": "attention_dropout",
    "initializer_range": "init_std",
}
# Settings of other models of Marian, of which transformers reads only some.
DEFAULTS = {
    "scale_embedding": True,
    "static_position_embeddings": True,
    "normalize_before": False,
    "normalize_embedding": False,
    "add_final_layer_norm": False,
    "extra_pos_embeddings": 0,
}
SHARED = {  # whether source and target share their embeddings, and target and output
    (True, True): "all",
    (True, False): "inputs",
    (False, True): "target",
    (False, False): "none",
}
PREFIX = "model."  # of all tensors except the head
TABLES = {
    "token/embeddings": "shared.weight",
    "source_token/embeddings": "encoder.embed_tokens.weight",
    "target_token/embeddings": "decoder.embed_tokens.weight",
}
HEAD = {"output/embeddings": "lm_head.weight", "output_bias": "final_logits_bias"}
FEED_FORWARD = {
    "feed_forward/intermediate": ("fc1",),
    "feed_forward/output": ("fc2",),
    "feed_forward_norm": ("final_layer_norm",),
}
NAMES = (
    TensorNames(
        outer={},
        own="encoder_",
        block="encoder.layers.{}.",
        parts={
            "attention/qkv": tuple(f"self_attn.{part}_proj" for part in "qkv"),
            "attention/output": ("self_attn.out_proj",),
            "attention_norm": ("self_attn_layer_norm",),
            **FEED_FORWARD,
        },
    ),
    TensorNames(
        outer={},
        own="decoder_",
        block="decoder.layers.{}.",
        parts={
            "self_attention/qkv": tuple(f"self_attn.{part}_proj" for part in "qkv"),
            "self_attention/output": ("self_attn.out_proj",),
            "self_attention_norm": ("self_attn_layer_norm",),
            "cross_attention/query": ("encoder_attn.q_proj",),
            "cross_attention/key_value": ("encoder_attn.k_proj", "encoder_attn.v_proj"),
            "cross_attention/output": ("encoder_attn.out_proj",),
            "cross_attention_norm": ("encoder_attn_layer_norm",),
            **FEED_FORWARD,
        },
    ),
)


class HuggingFaceMarian(PublishedEncoderDecoder):
    """Weights and tokens as transformers saves MarianMTModel and MarianTokenizer, such as the models of OPUS-MT."""

    description = (
        f"{CONFIG} with model_type marian, {SAFETENSORS}, source.spm, target.spm and vocab.json (Hugging Face)"
    )
    model_types = ("marian",)

    def sizes(self) -> dict[str, Any]:
        config = self._json(CONFIG)
        self._require_defaults({"scale_embedding": False, **config}, DEFAULTS, CONFIG)
        sizes = {ours: self._setting(config, theirs, CONFIG) for ours, theirs in SIZES.items()}
        same = {"decoder_attention_heads": sizes["num_heads"], "decoder_ffn_dim": sizes["intermediate_dim"]}
        self._require_defaults(config, same, CONFIG)
        shared = config.get("share_encoder_decoder_embeddings", True), config.get("tie_word_embeddings", True)
        return {
            **sizes,
            "target_vocabulary_size": config.get("decoder_vocab_size") or sizes["vocabulary_size"],
            "activation": self._setting(
                {"activation_function": "gelu", **config},
                "activation_function",
                CONFIG,
                {**ACTIVATIONS, "swish": "silu", "silu": "silu"},
            ),
            "norm": "post",
            "positions": "sinusoidal_halves",
            "layer_norm_epsilon": 1e-5,  # that of torch.nn.LayerNorm
            "share_embeddings": SHARED[shared],
            "output_bias": True,
        }

    def tokenization(self) -> dict[str, Any]:
        return read_marian(self.folder, self._json(CONFIG), **self.special_ids)

    def stored_names(self, path: str, stored: Collection[str]) -> tuple[str, ...]:
        if path in HEAD:
            return (HEAD[path],)
        if path in TABLES:
            return (PREFIX + TABLES[path],)
        found = [names for names in (part.tensor_names(path) for part in NAMES) if names != (path,)]
        return tuple(PREFIX + name for name in found[0]) if found else (path,)

    def convert(self, name: str, value: np.ndarray) -> np.ndarray:
        if name == HEAD["output_bias"]:
            return value[0]  # (1, V)
        return value.T if "_proj." in name or ".fc" in name else value  # PyTorch linear layers have (outputs, inputs)

    def restore(self, name: str, value: np.ndarray) -> np.ndarray:
        return value[None] if name == HEAD["output_bias"] else self.convert(name, value)
