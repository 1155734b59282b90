"""Keys of transformers' config.json that follow from several arguments of a model.

Each function is the inverse of a function of `pretrained/decoder_options.py` or `pretrained/encoder_options.py`: it
takes all arguments of a model and returns the keys from which the reader makes the same arguments.
"""

from collections.abc import Callable, Mapping
from typing import Any

from tfattn.pretrained import decoder_options, encoder_options
from tfattn.pretrained.decoder_options import FULL, SLIDING
from tfattn.pretrained.hugging_face import ACTIVATIONS

Arguments = Mapping[str, Any]
Settings = dict[str, Any]


def activation_name(activation: str, known: Mapping[str, str] = ACTIVATIONS, usual: str | None = None) -> str:
    """Return the name of an activation in config.json; its own name if the architecture does not have it.

    Args:
        activation: the activation of the model.
        known: the activation of the model by its name in config.json.
        usual: the name to prefer.
    """
    if known.get(usual) == activation:
        return usual
    return next((theirs for theirs, ours in known.items() if ours == activation), activation)


def _rotary(arguments: Arguments) -> Settings:
    rotation = _rotation(arguments)
    # Earlier versions of transformers have no `rope_parameters`.
    earlier = {} if arguments["rotary_scaling"] is None else {"rope_scaling": rotation}
    fraction = arguments["rotary_fraction"]
    return {
        "rope_theta": arguments["rotary_base"],
        "rope_parameters": rotation,
        **earlier,
        **({} if fraction == 1 else {"partial_rotary_factor": fraction}),
    }


def _rotary_of_two_kinds(arguments: Arguments) -> Settings:
    base, local = arguments["rotary_base"], arguments["local_rotary_base"]
    local = base if local is None else local
    return {
        "rope_theta": base,
        "rope_local_base_freq": local,
        "rope_parameters": {
            FULL: _rotation(arguments),
            SLIDING: {"rope_type": "default", "rope_theta": local},
        },
    }


def _rotary_of_neox(arguments: Arguments) -> Settings:
    return {
        "rotary_emb_base": arguments["rotary_base"],
        "rotary_pct": arguments["rotary_fraction"],
        "rope_parameters": {**_rotation(arguments), "partial_rotary_factor": arguments["rotary_fraction"]},
    }


def _rotation(arguments: Arguments) -> Settings:
    """Return the settings of rotary positions in one mapping."""
    scaling = arguments["rotary_scaling"] or {"name": "default"}
    names = {
        "factor": "factor",
        "low_frequency_factor": "low_freq_factor",
        "high_frequency_factor": "high_freq_factor",
        "original_length": "original_max_position_embeddings",
        "beta_fast": "beta_fast",
        "beta_slow": "beta_slow",
        "attention_factor": "attention_factor",
        "truncate": "truncate",
    }
    numbers = {theirs: scaling[ours] for ours, theirs in names.items() if ours in scaling}
    fraction = arguments["rotary_fraction"]
    partial = {} if fraction == 1 else {"partial_rotary_factor": fraction}
    return {"rope_type": scaling["name"], "rope_theta": arguments["rotary_base"], **numbers, **partial}


def _window(arguments: Arguments) -> Settings:
    return {"sliding_window": arguments["window"]}


def _windows(arguments: Arguments) -> Settings:
    has_window, whole = arguments["window"] is not None, arguments["global_layers"]
    kinds = [SLIDING if has_window and layer not in whole else FULL for layer in range(arguments["num_layers"])]
    return {"sliding_window": arguments["window"], "use_sliding_window": has_window, "layer_types": kinds}


def _unrotated_layers(arguments: Arguments) -> Settings:
    unrotated = arguments["unrotated_layers"]
    return {"no_rope_layers": [int(layer not in unrotated) for layer in range(arguments["num_layers"])]}


def _decoder_biases(arguments: Arguments) -> Settings:
    biases = arguments["attention_bias"] or ("all" if arguments["use_bias"] else "none")
    return {"attention_bias": biases == "all", "mlp_bias": arguments["use_bias"]}


def _query_scale(arguments: Arguments) -> Settings:
    divisor = round(arguments["query_scale"] ** -2, 6)
    return {"query_pre_attn_scalar": int(divisor) if divisor == int(divisor) else divisor}


def _residual(arguments: Arguments) -> Settings:
    return {"use_parallel_residual": arguments["norm"] == "parallel"}


def _disentangled(arguments: Arguments) -> Settings:
    return {"pos_att_type": ["c2p", "p2c"], "max_relative_positions": arguments["max_relative_positions"]}


def _local_attention(arguments: Arguments) -> Settings:
    window, every = arguments["local_attention"], arguments["global_attention_every"]
    every = every if window else 1
    base, local = arguments["rotary_base"], arguments["local_rotary_base"]
    local = base if local is None else local
    kinds = [SLIDING if layer % every else FULL for layer in range(arguments["num_layers"])]
    bases = {FULL: base, SLIDING: local}
    return {
        "local_attention": window or 2,
        "global_attn_every_n_layers": every,
        "layer_types": kinds,
        "global_rope_theta": base,
        "local_rope_theta": local,
        "rope_parameters": {kind: {"rope_type": "default", "rope_theta": value} for kind, value in bases.items()},
    }


def _encoder_biases(arguments: Arguments) -> Settings:
    return {
        "attention_bias": arguments["use_bias"],
        "mlp_bias": arguments["use_bias"],
        "norm_bias": arguments["normalization"] == "layer_norm",
    }


# The function that reads, and its inverse.
INVERSES: dict[Callable[..., Settings], Callable[[Arguments], Settings]] = {
    decoder_options.rotary: _rotary,
    decoder_options.rotary_of_two_kinds: _rotary_of_two_kinds,
    decoder_options.rotary_of_neox: _rotary_of_neox,
    decoder_options.window: _window,
    decoder_options.windows: _windows,
    decoder_options.unrotated_layers: _unrotated_layers,
    decoder_options.biases: _decoder_biases,
    decoder_options.query_scale: _query_scale,
    decoder_options.residual: _residual,
    encoder_options.disentangled: _disentangled,
    encoder_options.local_attention: _local_attention,
    encoder_options.biases: _encoder_biases,
}
