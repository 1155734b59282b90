"""The decoders of GGUF files that can be read: tensor names and options, one entry for each architecture.

llama.cpp leaves constants of an architecture out of the file; they are here. An architecture that differs in options of
`Gpt` is a new entry of ARCHITECTURES, and a case of its test.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tfattn.pretrained.contract import TensorNames

Options = Mapping[str, Any]
TABLES = ("token_embd.weight", "position_embd.weight", "output.weight")
ROPE_FREQUENCIES = "rope_freqs.weight"


@dataclass(frozen=True, kw_only=True)
class GgufArchitecture:
    """A decoder of llama.cpp.

    Args:
        names: the names of the tensors.
        epsilon: the key of the epsilon of norms, after the architecture's name.
        fixed: arguments of `Gpt` that are the same in all models.
        soft_caps: the soft caps of scores and logits of files that do not state them.
        window_pattern: the interval of the layers that see all positions; None if all layers with a window are equal.
        default_window: the window of files that do not state it.
        unrotated_interval: the interval of the layers without rotary positions.
        local_rotary_base: the base of layers with a window, of files that do not state it.
        scales_by_width: the number of layers of models whose queries are scaled by the root of hidden_dim / num_heads,
            instead of the width of a head.
        is_interleaved: whether the two components of a rotation are adjacent in queries and keys, as llama.cpp stores
            them for some architectures; in `Gpt` they are half a head apart.
    """

    names: TensorNames
    epsilon: str = "attention.layer_norm_rms_epsilon"
    fixed: Options = dataclasses.field(default_factory=dict)
    soft_caps: tuple[float | None, float | None] = (None, None)
    window_pattern: int | None = None
    default_window: int | None = None
    unrotated_interval: int | None = None
    local_rotary_base: float | None = None
    scales_by_width: int | None = None
    is_interleaved: bool = False


_OUTER = {"token": "token_embd", "position": "position_embd", "norm": "output_norm", "output": "output"}
_FUSED_PARTS = {
    "attention_norm": ("attn_norm",),
    "attention/qkv": ("attn_qkv",),
    "attention/output": ("attn_output",),
    "feed_forward_norm": ("ffn_norm",),
    "feed_forward/intermediate": ("ffn_up",),
    "feed_forward/output": ("ffn_down",),
}
_PARTS = {
    **_FUSED_PARTS,
    "attention/qkv": ("attn_q", "attn_k", "attn_v"),
    "feed_forward/intermediate": ("ffn_gate", "ffn_up"),
}
_QK_NORMS = {"attention/query_norm": ("attn_q_norm",), "attention/key_norm": ("attn_k_norm",)}
_OUTPUT_NORMS = {"attention_output_norm": ("post_attention_norm",), "feed_forward_output_norm": ("post_ffw_norm",)}


def _names(parts: Mapping[str, tuple[str, ...]]) -> TensorNames:
    return TensorNames(outer=_OUTER, block="blk.{}.", parts=parts)


_ROTARY = {"positions": "rotary", "normalization": "rms_norm", "activation": "swiglu"}
_LLAMA = GgufArchitecture(names=_names(_PARTS), fixed=_ROTARY, is_interleaved=True)
_QWEN2 = dataclasses.replace(_LLAMA, is_interleaved=False)
_GEMMA = dataclasses.replace(_QWEN2, fixed={**_ROTARY, "activation": "geglu_approximate", "scale_embeddings": True})
_GEMMA2 = dataclasses.replace(
    _GEMMA,
    names=_names({**_PARTS, **_OUTPUT_NORMS}),
    fixed={**_GEMMA.fixed, "norm": "both"},
    soft_caps=(50.0, 30.0),
    window_pattern=2,
    default_window=4096,
    scales_by_width=46,
)

# The key is the value of general.architecture.
ARCHITECTURES: dict[str, GgufArchitecture] = {
    "gpt2": GgufArchitecture(
        names=_names(_FUSED_PARTS),
        epsilon="attention.layer_norm_epsilon",
        fixed={"positions": "learned", "activation": "gelu_approximate"},
    ),
    "llama": _LLAMA,
    "qwen2": _QWEN2,
    "qwen3": dataclasses.replace(_QWEN2, names=_names({**_PARTS, **_QK_NORMS}), fixed={**_ROTARY, "qk_norm": True}),
    "smollm3": dataclasses.replace(_LLAMA, unrotated_interval=4),
    "gemma": _GEMMA,
    "gemma2": _GEMMA2,
    "gemma3": dataclasses.replace(
        _GEMMA2,
        names=_names({**_PARTS, **_OUTPUT_NORMS, **_QK_NORMS}),
        fixed={**_GEMMA2.fixed, "qk_norm": True},
        soft_caps=(None, None),
        window_pattern=6,
        default_window=None,
        local_rotary_base=10000.0,
        scales_by_width=62,
    ),
    "gptneox": GgufArchitecture(
        names=_names(_FUSED_PARTS),
        epsilon="attention.layer_norm_epsilon",
        fixed={"positions": "rotary", "activation": "gelu"},
    ),
}
