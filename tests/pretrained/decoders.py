"""Tiny decoders with random weights, and folders of them in the published formats."""

import json
import subprocess
from pathlib import Path

import keras
import numpy as np
import pytest
from safetensors.numpy import save_file

from benchmarks import peers
from tfattn.models.gpt import Gpt
from tfattn.preprocessing.byte_vocabulary import CHARACTERS

MERGES = [("p", "u"), ("pu", "m"), ("pum", "p"), ("Ġ", "pump"), ("1", "9"), ("Ġ", "t")]
END = "<|endoftext|>"
SPECIAL = (END, "<|im_start|>", "<|im_end|>")
TOKENS = (END, *CHARACTERS, *("".join(pair) for pair in MERGES), *SPECIAL[1:])
SIZES = {
    "vocabulary_size": len(TOKENS),
    "hidden_dim": 32,
    "num_layers": 2,
    "num_heads": 4,
    "intermediate_dim": 64,
    "max_sequence_length": 16,
}
LLAMA = {
    "num_key_value_heads": 2,
    "positions": "rotary",
    "rotary_base": 100.0,
    "normalization": "rms_norm",
    "activation": "swiglu",
    "use_bias": False,
}
IDS = np.random.default_rng(1).integers(0, len(TOKENS), size=(2, 9)).astype("int32")


def random_gpt(**changes) -> Gpt:
    """Return a decoder whose weights are all different, including norms and biases."""
    gpt, draw = Gpt(**{**SIZES, **changes}), np.random.default_rng(0)
    for weight in gpt.weights:
        if "seed" not in weight.path:
            weight.assign(draw.normal(scale=0.2, size=weight.shape) + weight.path.endswith("gamma"))
    return gpt


def values_of(gpt: Gpt) -> dict[str, np.ndarray]:
    """Return the weights of a model by path."""
    return {v.path.removeprefix("gpt/"): keras.ops.convert_to_numpy(v) for v in gpt.weights if "seed" not in v.path}


def logits(gpt: Gpt, ids: np.ndarray = IDS) -> np.ndarray:
    return keras.ops.convert_to_numpy(gpt({"token_ids": ids})["logits"])


def llama_names(gpt: Gpt, outer: dict[str, str], block: str, parts: dict[str, str]) -> dict[str, np.ndarray]:
    """Return the weights of a Llama under other names, with linear layers as (outputs, inputs)."""
    value = values_of(gpt)
    found = {outer["token"]: value["token/embeddings"], outer["norm"]: value["norm/gamma"]}
    if not gpt.tied:
        found[outer["output"]] = value["output/embeddings"]
    narrow = gpt.hidden_dim // gpt.num_heads * gpt.num_groups
    for index in range(gpt.num_layers):
        ours, theirs = f"block_{index}", block.format(index)
        qkv = np.split(value[f"{ours}/attention/qkv/kernel"], [gpt.hidden_dim, gpt.hidden_dim + narrow], axis=1)
        gate_up = np.split(value[f"{ours}/feed_forward/intermediate/kernel"], 2, axis=1)
        kernels = {
            **dict(zip("qkv", qkv, strict=True)),
            **dict(zip(("gate", "up"), gate_up, strict=True)),
            "o": value[f"{ours}/attention/output/kernel"],
            "down": value[f"{ours}/feed_forward/output/kernel"],
        }
        for name, kernel in kernels.items():
            found[f"{theirs}{parts[name]}.weight"] = np.ascontiguousarray(kernel.T)
        found[f"{theirs}{parts['attention_norm']}.weight"] = value[f"{ours}/attention_norm/gamma"]
        found[f"{theirs}{parts['feed_forward_norm']}.weight"] = value[f"{ours}/feed_forward_norm/gamma"]
    return found


def gpt2_names(gpt: Gpt, prefix: str = "transformer.") -> dict[str, np.ndarray]:
    """The weights of a GPT-2 as transformers names them."""
    value = values_of(gpt)
    found = {
        "wte.weight": value["token/embeddings"],
        "wpe.weight": value["position/embeddings"],
        "ln_f.weight": value["norm/gamma"],
        "ln_f.bias": value["norm/beta"],
    }
    layers = {
        "attn.c_attn": "attention/qkv",
        "attn.c_proj": "attention/output",
        "mlp.c_fc": "feed_forward/intermediate",
        "mlp.c_proj": "feed_forward/output",
    }
    for index in range(gpt.num_layers):
        for theirs, ours in layers.items():
            found[f"h.{index}.{theirs}.weight"] = value[f"block_{index}/{ours}/kernel"]
            found[f"h.{index}.{theirs}.bias"] = value[f"block_{index}/{ours}/bias"]
        for theirs, ours in {"ln_1": "attention_norm", "ln_2": "feed_forward_norm"}.items():
            found[f"h.{index}.{theirs}.weight"] = value[f"block_{index}/{ours}/gamma"]
            found[f"h.{index}.{theirs}.bias"] = value[f"block_{index}/{ours}/beta"]
    return {prefix + name: tensor for name, tensor in found.items()}


GPT2_CONFIG = {
    "model_type": "gpt2",
    "activation_function": "gelu_new",
    "vocab_size": len(TOKENS),
    "n_embd": 32,
    "n_layer": 2,
    "n_head": 4,
    "n_inner": 64,
    "n_positions": 16,
    "resid_pdrop": 0.1,
    "attn_pdrop": 0.2,
    "layer_norm_epsilon": 1e-5,
    "initializer_range": 0.02,
}


def write_gpt2(folder: Path, gpt: Gpt, *, prefix: str = "transformer.", **changes) -> Path:
    """Write a folder as transformers does, with GPT-2's files of tokens."""
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps({**GPT2_CONFIG, **changes}))
    (folder / "vocab.json").write_text(json.dumps({token: number for number, token in enumerate(TOKENS[:-2])}))
    (folder / "merges.txt").write_text("#version: 0.2\n" + "".join(f"{a} {b}\n" for a, b in MERGES))
    save_file(gpt2_names(gpt, prefix), folder / "model.safetensors")
    return folder


LLAMA_CONFIG = {
    "model_type": "llama",
    "hidden_act": "silu",
    "vocab_size": len(TOKENS),
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 64,
    "max_position_embeddings": 16,
    "rope_parameters": {"rope_theta": 100.0, "rope_type": "default"},
    "rms_norm_eps": 1e-5,
    "initializer_range": 0.02,
    "tie_word_embeddings": True,
    "eos_token_id": 0,
}


def write_llama(folder: Path, gpt: Gpt, **changes) -> Path:
    """Write a folder as transformers does, without its tokenizer."""
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps({**LLAMA_CONFIG, **changes}))
    outer = {"token": "model.embed_tokens.weight", "norm": "model.norm.weight", "output": "lm_head.weight"}
    parts = {
        **{name: f"self_attn.{name}_proj" for name in "qkvo"},
        **{name: f"mlp.{name}_proj" for name in ("gate", "up", "down")},
        "attention_norm": "input_layernorm",
        "feed_forward_norm": "post_attention_layernorm",
    }
    save_file(llama_names(gpt, outer, "model.layers.{}.", parts), folder / "model.safetensors")
    return folder


def write_gguf(path: Path, gpt: Gpt, *, quantization: str = "F32", without: str = "nothing", **changes) -> Path:
    """Write a file as llama.cpp's converter does.

    Args:
        path: of the file.
        gpt: a Llama.
        quantization: of its matrices.
        without: the tensors whose names hold this are left out.
        changes: to the metadata, by names with __ for dots; None leaves one out.
    """
    import gguf

    writer = gguf.GGUFWriter(path, changes.pop("architecture", "llama"))
    values = {
        "llama.embedding_length": gpt.hidden_dim,
        "llama.block_count": gpt.num_layers,
        "llama.attention.head_count": gpt.num_heads,
        "llama.attention.head_count_kv": gpt.num_groups,
        "llama.feed_forward_length": gpt.intermediate_dim,
        "llama.context_length": gpt.max_sequence_length,
        "llama.rope.freq_base": float(gpt.rotary_base),
        "llama.attention.layer_norm_rms_epsilon": gpt.epsilon,
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "smollm",
        "tokenizer.ggml.tokens": list(TOKENS),
        "tokenizer.ggml.token_type": [3 if token in SPECIAL else 1 for token in TOKENS],
        "tokenizer.ggml.merges": [" ".join(pair) for pair in MERGES],
        "tokenizer.ggml.eos_token_id": len(TOKENS) - 1,
        **{name.replace("__", "."): value for name, value in changes.items()},
    }
    add = {
        bool: writer.add_bool,
        int: writer.add_uint32,
        float: writer.add_float32,
        str: writer.add_string,
        list: writer.add_array,
    }
    for name, value in values.items():
        if value is not None:
            add[type(value)](name, value)
    outer = {"token": "token_embd.weight", "norm": "output_norm.weight", "output": "output.weight"}
    parts = {
        **{name: f"attn_{name}" for name in "qkv"},
        **{name: f"ffn_{name}" for name in ("gate", "up", "down")},
        "o": "attn_output",
        "attention_norm": "attn_norm",
        "feed_forward_norm": "ffn_norm",
    }
    for name, value in llama_names(gpt, outer, "blk.{}.", parts).items():
        if "attn_q." in name or "attn_k." in name:
            # As convert_hf_to_gguf.py: components of the two halves of a head take turns.
            heads = gpt.num_heads if "attn_q." in name else gpt.num_groups
            halves = value.reshape(heads, 2, value.shape[0] // heads // 2, value.shape[1])
            value = np.ascontiguousarray(halves.swapaxes(1, 2).reshape(value.shape))
        kind = gguf.GGMLQuantizationType["F32" if value.ndim == 1 else quantization]
        if without not in name:
            writer.add_tensor(name, gguf.quantize(value, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def logits_of_transformers(kind: str, folder: Path, tmp_path: Path, ids: np.ndarray = IDS) -> np.ndarray:
    """Run a model of transformers on a folder in a separate process."""
    if not peers.has_transformers():
        pytest.skip("needs torch and transformers, to compare with; TORCH_PYTHON may name a Python that has them")
    np.save(tmp_path / "ids.npy", ids.astype("int64"))
    program = Path(__file__).parent / "decoder_reference.py"
    command = [peers.TORCH_PYTHON, program, kind, folder, tmp_path / "ids.npy", tmp_path / "logits.npy"]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    return np.load(tmp_path / "logits.npy")
