"""The decoders of transformers that can be read: tensor names, keys of config.json and options, one entry for each.

An architecture that differs in options of `Gpt` is a new entry of ARCHITECTURES, and a case of its test.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

from tfattn.pretrained.contract import TensorNames
from tfattn.pretrained.decoder_options import (
    biases,
    query_scale,
    residual,
    rotary,
    rotary_of_neox,
    rotary_of_two_kinds,
    unrotated_layers,
    window,
    windows,
)
from tfattn.pretrained.hugging_face import ACTIVATIONS, Architecture

# Without gates.
PLAIN_ACTIVATIONS = {**ACTIVATIONS, "gelu_fast": "gelu_approximate"}
GATED_ACTIVATIONS = {
    "silu": "swiglu",
    "gelu": "geglu",
    "gelu_new": "geglu_approximate",
    "gelu_pytorch_tanh": "geglu_approximate",
    "relu": "reglu",
}


@dataclass(frozen=True, kw_only=True)
class DecoderArchitecture(Architecture):
    """A decoder of transformers.

    Args:
        names: the names of the tensors, without the prefix.
        transposed: whether linear layers are stored as (outputs, inputs).
        norm_offset: what is added to the stored scales of norms.
        heads_first: whether the fused projection of queries, keys and values is stored head by head.
    """

    names: TensorNames
    activations: Mapping[str, str] = dataclasses.field(default_factory=lambda: GATED_ACTIVATIONS)
    transposed: bool = True
    norm_offset: float = 0.0
    heads_first: bool = False


_GPT2 = DecoderArchitecture(
    prefix="transformer.",
    names=TensorNames(
        outer={"token": "wte", "position": "wpe", "norm": "ln_f", "output": "lm_head"},
        block="h.{}.",
        parts={
            "attention_norm": ("ln_1",),
            "attention/qkv": ("attn.c_attn",),
            "attention/output": ("attn.c_proj",),
            "feed_forward_norm": ("ln_2",),
            "feed_forward/intermediate": ("mlp.c_fc",),
            "feed_forward/output": ("mlp.c_proj",),
        },
    ),
    keys={
        "vocabulary_size": "vocab_size",
        "hidden_dim": "n_embd",
        "num_layers": "n_layer",
        "num_heads": "n_head",
        "num_key_value_heads": "n_head",
        "intermediate_dim": "n_inner",
        "max_sequence_length": "n_positions",
        "tied": "tie_word_embeddings",
        "dropout": "resid_pdrop",
        "attention_dropout": "attn_pdrop",
        "epsilon": "layer_norm_epsilon",
        "initializer_range": "initializer_range",
    },
    activation="activation_function",
    defaults={"n_inner": None, "tie_word_embeddings": True, "initializer_range": 0.02},
    only={"scale_attn_weights": True, "scale_attn_by_inverse_layer_idx": False, "add_cross_attention": False},
    fixed={"positions": "learned"},
    activations=PLAIN_ACTIVATIONS,
    transposed=False,
)

_LLAMA_PARTS = {
    "attention_norm": ("input_layernorm",),
    "attention/qkv": ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    "attention/output": ("self_attn.o_proj",),
    "feed_forward_norm": ("post_attention_layernorm",),
    "feed_forward/intermediate": ("mlp.gate_proj", "mlp.up_proj"),
    "feed_forward/output": ("mlp.down_proj",),
}
_QK_NORMS = {"attention/query_norm": ("self_attn.q_norm",), "attention/key_norm": ("self_attn.k_norm",)}
_LLAMA_NAMES = TensorNames(
    outer={"token": "embed_tokens", "norm": "norm", "output": "lm_head"}, block="layers.{}.", parts=_LLAMA_PARTS
)
_LLAMA = DecoderArchitecture(
    prefix="model.",
    names=_LLAMA_NAMES,
    keys={
        "vocabulary_size": "vocab_size",
        "hidden_dim": "hidden_size",
        "num_layers": "num_hidden_layers",
        "num_heads": "num_attention_heads",
        "num_key_value_heads": "num_key_value_heads",
        "head_dim": "head_dim",
        "intermediate_dim": "intermediate_size",
        "max_sequence_length": "max_position_embeddings",
        "tied": "tie_word_embeddings",
        "attention_dropout": "attention_dropout",
        "epsilon": "rms_norm_eps",
        "initializer_range": "initializer_range",
    },
    defaults={
        "num_key_value_heads": None,
        "head_dim": None,
        "tie_word_embeddings": False,
        "attention_dropout": 0.0,
        "attention_bias": False,
        "initializer_range": 0.02,
        "rope_theta": 10000.0,
        "partial_rotary_factor": 1.0,
    },
    options=(rotary, biases),
    fixed={"positions": "rotary", "normalization": "rms_norm", "dropout": 0.0},
)
_QWEN2 = dataclasses.replace(
    _LLAMA,
    defaults={**_LLAMA.defaults, "sliding_window": 4096, "max_window_layers": 28, "use_sliding_window": False},
    options=(rotary, windows),
    fixed={**_LLAMA.fixed, "use_bias": False, "attention_bias": "qkv"},
)
_GEMMA = dataclasses.replace(
    _LLAMA,
    defaults={**_LLAMA.defaults, "head_dim": 256, "tie_word_embeddings": True, "hidden_act": "gelu_pytorch_tanh"},
    only={"use_bidirectional_attention": (None, False)},
    fixed={**_LLAMA.fixed, "scale_embeddings": True},
    # The first releases name `gelu`, and mean its approximation.
    activations={**GATED_ACTIVATIONS, "gelu": "geglu_approximate"},
    norm_offset=1.0,
)
_GEMMA2 = dataclasses.replace(
    _GEMMA,
    names=dataclasses.replace(
        _LLAMA_NAMES,
        parts={
            **_LLAMA_PARTS,
            "attention_output_norm": ("post_attention_layernorm",),
            "feed_forward_norm": ("pre_feedforward_layernorm",),
            "feed_forward_output_norm": ("post_feedforward_layernorm",),
        },
    ),
    keys={
        **_GEMMA.keys,
        "attention_soft_cap": "attn_logit_softcapping",
        "logit_soft_cap": "final_logit_softcapping",
    },
    activation="hidden_activation",
    defaults={
        **_GEMMA.defaults,
        "hidden_activation": "gelu_pytorch_tanh",
        "query_pre_attn_scalar": 256,
        "attn_logit_softcapping": 50.0,
        "final_logit_softcapping": 30.0,
        "sliding_window": 4096,
        "sliding_window_pattern": 2,
    },
    options=(rotary, biases, windows, query_scale),
    fixed={**_GEMMA.fixed, "norm": "both"},
    activations=GATED_ACTIVATIONS,
)

# The key is the `model_type` of config.json.
ARCHITECTURES: dict[str, DecoderArchitecture] = {
    "gpt2": _GPT2,
    "llama": _LLAMA,
    "mistral": dataclasses.replace(
        _LLAMA,
        defaults={**_LLAMA.defaults, "sliding_window": 4096},
        options=(*_LLAMA.options, window),
    ),
    "qwen2": _QWEN2,
    "qwen3": dataclasses.replace(
        _QWEN2,
        names=dataclasses.replace(_LLAMA_NAMES, parts={**_LLAMA_PARTS, **_QK_NORMS}),
        defaults={**_QWEN2.defaults, "head_dim": 128},
        options=(*_LLAMA.options, windows),
        fixed={**_LLAMA.fixed, "qk_norm": True},
    ),
    "smollm3": dataclasses.replace(
        _LLAMA,
        defaults={
            **_LLAMA.defaults,
            "tie_word_embeddings": True,
            "rope_theta": 2000000.0,
            "no_rope_layers": None,
            "no_rope_layer_interval": 4,
        },
        only={"use_sliding_window": False},
        options=(*_LLAMA.options, unrotated_layers),
    ),
    "gemma": _GEMMA,
    "gemma2": _GEMMA2,
    "gemma3_text": dataclasses.replace(
        _GEMMA2,
        names=dataclasses.replace(_GEMMA2.names, parts={**_GEMMA2.names.parts, **_QK_NORMS}),
        defaults={
            **_GEMMA2.defaults,
            "attn_logit_softcapping": None,
            "final_logit_softcapping": None,
            "sliding_window_pattern": 6,
            "rope_theta": 1000000.0,
            "rope_local_base_freq": 10000.0,
        },
        options=(rotary_of_two_kinds, biases, windows, query_scale),
        fixed={**_GEMMA2.fixed, "qk_norm": True},
    ),
    "gpt_neox": DecoderArchitecture(
        prefix="gpt_neox.",
        names=TensorNames(
            outer={"token": "embed_in", "norm": "final_layer_norm", "output": "embed_out"},
            block="layers.{}.",
            parts={
                "attention_norm": ("input_layernorm",),
                "attention/qkv": ("attention.query_key_value",),
                "attention/output": ("attention.dense",),
                "feed_forward_norm": ("post_attention_layernorm",),
                "feed_forward/intermediate": ("mlp.dense_h_to_4h",),
                "feed_forward/output": ("mlp.dense_4h_to_h",),
            },
        ),
        keys={
            "vocabulary_size": "vocab_size",
            "hidden_dim": "hidden_size",
            "num_layers": "num_hidden_layers",
            "num_heads": "num_attention_heads",
            "num_key_value_heads": "num_attention_heads",
            "intermediate_dim": "intermediate_size",
            "max_sequence_length": "max_position_embeddings",
            "tied": "tie_word_embeddings",
            "dropout": "hidden_dropout",
            "attention_dropout": "attention_dropout",
            "epsilon": "layer_norm_eps",
            "initializer_range": "initializer_range",
        },
        defaults={
            "tie_word_embeddings": False,
            "hidden_dropout": 0.0,
            "attention_dropout": 0.0,
            "initializer_range": 0.02,
            "use_parallel_residual": True,
            "rotary_emb_base": 10000.0,
            "rotary_pct": 0.25,
            "attention_bias": True,
        },
        options=(rotary_of_neox, biases, residual),
        fixed={"positions": "rotary", "use_bias": True},
        activations=PLAIN_ACTIVATIONS,
        heads_first=True,
    ),
}
