"""GGUF files of the decoders of benchmarks/decoders.py, as llama.cpp's converter writes them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.architecture_reference import tensor
from benchmarks.decoders import DECODERS
from tests.pretrained.decoder_logits import stored
from tfattn.ops.rotary_rates import scaled_rates, wave_rates

# The architecture of llama.cpp, by the model_type of transformers.
ARCHITECTURES = {
    "gpt2": "gpt2",
    "llama": "llama",
    "mistral": "llama",
    "qwen2": "qwen2",
    "qwen3": "qwen3",
    "smollm3": "smollm3",
    "gemma": "gemma",
    "gemma2": "gemma2",
    "gemma3_text": "gemma3",
    "gpt_neox": "gptneox",
}
TOKENS = [f"<{number}>" for number in range(40)]
TOKENIZER = {
    "tokenizer.ggml.model": "llama",
    "tokenizer.ggml.tokens": TOKENS,
    "tokenizer.ggml.scores": [0.0] * 40,
    "tokenizer.ggml.token_type": [2, *[3] * 39],
    "tokenizer.ggml.eos_token_id": 2,
}


def write_decoder(path: Path, name: str, *, quantization: str = "F32", **changes: Any) -> Path:
    """Write a decoder.

    Args:
        path: of the file.
        name: of the decoder.
        quantization: of its matrices.
        changes: to the metadata, by names with __ for dots, without the architecture; None leaves one out.
    """
    import gguf

    config = DECODERS[name].config
    architecture = ARCHITECTURES[config["model_type"]]
    writer = gguf.GGUFWriter(path, architecture)
    values = {**_metadata(config, architecture), **{key.replace("__", "."): value for key, value in changes.items()}}
    for key, value in {**TOKENIZER, **{f"{architecture}.{key}": value for key, value in values.items()}}.items():
        if value is not None:
            _add(writer, key, value)
    shapes = stored(name)["tensors"]
    depth = config.get("num_hidden_layers") or config["n_layer"]
    mapping = gguf.get_tensor_name_map(gguf.MODEL_ARCH[architecture.upper()], depth)
    for theirs, shape in shapes.items():
        value = _converted(theirs, tensor(theirs, shape), config, architecture)
        renamed = mapping.get_name(theirs, try_suffixes=(".weight", ".bias"))
        kind = gguf.GGMLQuantizationType["F32" if value.ndim == 1 else quantization]
        writer.add_tensor(renamed, gguf.quantize(value, kind), raw_dtype=kind)
    if (factors := _frequency_factors(config)) is not None:
        writer.add_tensor("rope_freqs.weight", factors)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _add(writer: Any, key: str, value: Any) -> None:
    add = {
        bool: writer.add_bool,
        int: writer.add_uint32,
        float: writer.add_float32,
        str: writer.add_string,
        list: writer.add_array,
    }
    add[type(value)](key, value)


def _metadata(config: Mapping[str, Any], architecture: str) -> dict[str, Any]:
    if architecture == "gpt2":
        return {
            "context_length": config["n_positions"],
            "embedding_length": config["n_embd"],
            "block_count": config["n_layer"],
            "feed_forward_length": 4 * config["n_embd"],
            "attention.head_count": config["n_head"],
            "attention.layer_norm_epsilon": config["layer_norm_epsilon"],
        }
    found = {
        "context_length": config["max_position_embeddings"],
        "embedding_length": config["hidden_size"],
        "block_count": config["num_hidden_layers"],
        "feed_forward_length": config["intermediate_size"],
        "attention.head_count": config["num_attention_heads"],
        "rope.freq_base": config.get("rope_theta", config.get("rotary_emb_base")),
    }
    head_dim = config.get("head_dim", config["hidden_size"] // config["num_attention_heads"])
    if architecture == "gptneox":
        return {
            **found,
            "attention.layer_norm_epsilon": config["layer_norm_eps"],
            "rope.dimension_count": int(head_dim * config["rotary_pct"]),
            "use_parallel_residual": config["use_parallel_residual"],
        }
    found |= {
        "attention.layer_norm_rms_epsilon": config["rms_norm_eps"],
        "attention.head_count_kv": config["num_key_value_heads"],
        "attention.key_length": config.get("head_dim"),
        "attention.value_length": config.get("head_dim"),
        "rope.dimension_count": head_dim if architecture in ("llama", "smollm3") else None,
        "attn_logit_softcapping": config.get("attn_logit_softcapping"),
        "final_logit_softcapping": config.get("final_logit_softcapping"),
        "attention.sliding_window": config.get("sliding_window"),
    }
    scaling = config.get("rope_scaling", {})
    kind = scaling.get("rope_type", scaling.get("type"))
    if kind in ("linear", "yarn"):
        original = scaling.get("original_max_position_embeddings")
        found |= {"rope.scaling.type": kind, "rope.scaling.factor": scaling["factor"]}
        found |= {"rope.scaling.original_context_length": original}
    return found


def _converted(name: str, value: np.ndarray, config: Mapping[str, Any], architecture: str) -> np.ndarray:
    """Convert a tensor as convert_hf_to_gguf.py does."""
    if architecture.startswith("gemma") and name.endswith("norm.weight"):
        return value + 1
    if architecture == "gptneox" and "query_key_value" in name:
        heads = config["num_attention_heads"]
        return np.ascontiguousarray(value.reshape(heads, 3, -1, *value.shape[1:]).swapaxes(0, 1)).reshape(value.shape)
    if architecture == "gpt2" and value.ndim == 2 and ("attn" in name or "mlp" in name):
        return np.ascontiguousarray(value.T)
    for part, key in (("q_proj", "num_attention_heads"), ("k_proj", "num_key_value_heads")):
        if architecture in ("llama", "smollm3") and part in name:
            # The components of the two halves of a head take turns.
            halves = value.reshape(config[key], 2, -1, *value.shape[1:])
            return np.ascontiguousarray(halves.swapaxes(1, 2)).reshape(value.shape)
    return value


def _frequency_factors(config: Mapping[str, Any]) -> np.ndarray | None:
    """Return the tensor that llama.cpp has for the scaling of Llama 3."""
    scaling = config.get("rope_scaling", {})
    if scaling.get("rope_type") != "llama3":
        return None
    stated = {
        "name": "llama3",
        "factor": scaling["factor"],
        "low_frequency_factor": scaling["low_freq_factor"],
        "high_frequency_factor": scaling["high_freq_factor"],
        "original_length": scaling["original_max_position_embeddings"],
    }
    sizes = config["head_dim"], config["rope_theta"]
    return (np.array(wave_rates(*sizes)) / scaled_rates(*sizes, stated)).astype("float32")
