"""The difference of published decoders, with random weights, to transformers.

Each decoder is a small configuration as it is published, and the class of transformers that computes the expected
logits. `python -m benchmarks decoders` measures all of them.
"""

import json
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import architecture_reference, peers
from benchmarks.results import Table

TOKENS = 20
# Sizes of the parts in which a text is read with the key-value cache.
PARTS = (5, 1, 1, 6, 7)

_LLAMA = {
    "vocab_size": 40,
    "hidden_size": 32,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 64,
    "max_position_embeddings": 64,
    "hidden_act": "silu",
    "rms_norm_eps": 1e-5,
    "initializer_range": 0.02,
    "rope_theta": 500.0,
    "tie_word_embeddings": False,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
_GEMMA = {
    **{name: value for name, value in _LLAMA.items() if name not in ("hidden_act", "tie_word_embeddings")},
    "head_dim": 16,
    "pad_token_id": 0,
}


@dataclass(frozen=True, kw_only=True)
class Decoder:
    """A decoder of transformers, in a small size.

    Attributes:
        reference: the class of transformers.
        config: the content of config.json, with the keys of published folders.
        example: the name of published weights.
        tokenizer: the tokenizer of published weights, for the table.
    """

    reference: str
    config: Mapping[str, Any] = field(repr=False)
    example: str
    tokenizer: str


DECODERS = {
    "gpt2": Decoder(
        reference="GPT2LMHeadModel",
        config={
            "model_type": "gpt2",
            "vocab_size": 40,
            "n_embd": 32,
            "n_layer": 2,
            "n_head": 4,
            "n_positions": 64,
            "activation_function": "gelu_new",
            "resid_pdrop": 0.1,
            "attn_pdrop": 0.1,
            "layer_norm_epsilon": 1e-5,
            "initializer_range": 0.02,
            "bos_token_id": 1,
            "eos_token_id": 1,
        },
        example="openai-community/gpt2",
        tokenizer="byte-level BPE",
    ),
    "llama": Decoder(
        reference="LlamaForCausalLM",
        config={"model_type": "llama", **_LLAMA},
        example="TinyLlama/TinyLlama-1.1B-Chat-v1.0",
        tokenizer="SentencePiece BPE",
    ),
    "llama, linear scaling": Decoder(
        reference="LlamaForCausalLM",
        config={"model_type": "llama", **_LLAMA, "rope_scaling": {"type": "linear", "factor": 4.0}},
        example="lmsys/longchat-7b-v1.5-32k",
        tokenizer="SentencePiece BPE",
    ),
    "llama, dynamic scaling": Decoder(
        reference="LlamaForCausalLM",
        config={"model_type": "llama", **_LLAMA, "rope_scaling": {"type": "dynamic", "factor": 2.0}},
        example="Yukang/Llama-2-7b-longlora-8k-ft",
        tokenizer="SentencePiece BPE",
    ),
    "llama, llama3 scaling": Decoder(
        reference="LlamaForCausalLM",
        config={
            "model_type": "llama",
            **_LLAMA,
            "head_dim": 16,
            "tie_word_embeddings": True,
            "rope_scaling": {
                "rope_type": "llama3",
                "factor": 8.0,
                "low_freq_factor": 1.0,
                "high_freq_factor": 4.0,
                "original_max_position_embeddings": 16,
            },
        },
        example="meta-llama/Llama-3.2-1B",
        tokenizer="byte-level BPE",
    ),
    "llama, yarn scaling": Decoder(
        reference="LlamaForCausalLM",
        config={
            "model_type": "llama",
            **_LLAMA,
            "head_dim": 16,
            "attention_bias": True,
            "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16},
        },
        example="NousResearch/Yarn-Llama-2-7b-64k",
        tokenizer="SentencePiece BPE",
    ),
    "mistral": Decoder(
        reference="MistralForCausalLM",
        config={"model_type": "mistral", **_LLAMA, "sliding_window": 6, "head_dim": 16},
        example="mistralai/Mistral-7B-v0.1",
        tokenizer="SentencePiece BPE",
    ),
    "qwen2": Decoder(
        reference="Qwen2ForCausalLM",
        config={
            "model_type": "qwen2",
            **_LLAMA,
            "tie_word_embeddings": True,
            "use_sliding_window": True,
            "sliding_window": 5,
            "max_window_layers": 2,
        },
        example="Qwen/Qwen2.5-0.5B-Instruct",
        tokenizer="byte-level BPE",
    ),
    "qwen3": Decoder(
        reference="Qwen3ForCausalLM",
        config={
            "model_type": "qwen3",
            **_LLAMA,
            "head_dim": 16,
            "tie_word_embeddings": True,
            "use_sliding_window": False,
            "sliding_window": None,
            "max_window_layers": 4,
        },
        example="Qwen/Qwen3-0.6B",
        tokenizer="byte-level BPE",
    ),
    "smollm3": Decoder(
        reference="SmolLM3ForCausalLM",
        config={
            "model_type": "smollm3",
            **_LLAMA,
            "tie_word_embeddings": True,
            "no_rope_layers": [1, 1, 1, 0],
            "use_sliding_window": False,
            "pad_token_id": 0,
        },
        example="HuggingFaceTB/SmolLM3-3B",
        tokenizer="byte-level BPE",
    ),
    "gemma": Decoder(
        reference="GemmaForCausalLM",
        config={
            "model_type": "gemma",
            **_GEMMA,
            "num_hidden_layers": 2,
            "num_key_value_heads": 1,
            "hidden_act": "gelu",  # of the first files, which mean its approximation
        },
        example="google/gemma-2b",
        tokenizer="SentencePiece BPE",
    ),
    "gemma2": Decoder(
        reference="Gemma2ForCausalLM",
        config={
            "model_type": "gemma2",
            **_GEMMA,
            "hidden_activation": "gelu_pytorch_tanh",
            "sliding_window": 5,
            "query_pre_attn_scalar": 24,
            "attn_logit_softcapping": 2.0,
            "final_logit_softcapping": 3.0,
        },
        example="google/gemma-2-2b-it",
        tokenizer="SentencePiece BPE",
    ),
    "gemma3_text": Decoder(
        reference="Gemma3ForCausalLM",
        config={
            "model_type": "gemma3_text",
            **_GEMMA,
            "hidden_activation": "gelu_pytorch_tanh",
            "sliding_window": 5,
            "sliding_window_pattern": 3,
            "query_pre_attn_scalar": 16,
            "rope_local_base_freq": 100.0,
            "rope_scaling": {"rope_type": "linear", "factor": 8.0},
        },
        example="google/gemma-3-1b-it",
        tokenizer="SentencePiece BPE",
    ),
    "gpt_neox": Decoder(
        reference="GPTNeoXForCausalLM",
        config={
            "model_type": "gpt_neox",
            "vocab_size": 40,
            "hidden_size": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "intermediate_size": 64,
            "max_position_embeddings": 64,
            "hidden_act": "gelu",
            "layer_norm_eps": 1e-5,
            "rotary_pct": 0.5,
            "rotary_emb_base": 500.0,
            "use_parallel_residual": True,
            "tie_word_embeddings": False,
            "bos_token_id": 0,
            "eos_token_id": 0,
        },
        example="EleutherAI/pythia-160m",
        tokenizer="byte-level BPE",
    ),
    "gpt_neox, in sequence": Decoder(
        reference="GPTNeoXForCausalLM",
        config={
            "model_type": "gpt_neox",
            "vocab_size": 40,
            "hidden_size": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "intermediate_size": 64,
            "max_position_embeddings": 64,
            "hidden_act": "gelu_new",
            "layer_norm_eps": 1e-5,
            "rotary_pct": 1.0,
            "use_parallel_residual": False,
            "bos_token_id": 0,
            "eos_token_id": 0,
        },
        example="cyberagent/open-calm-small",
        tokenizer="byte-level BPE",
    ),
}


def main() -> list[Table]:
    """Compare all decoders with transformers."""
    rows = []
    for name, decoder in DECODERS.items():
        with tempfile.TemporaryDirectory() as path:
            expected = run_reference(decoder, Path(path))
            whole, cached = (float(np.abs(found - expected).max()) for found in logits(Path(path)))
        rows.append([name, decoder.example, decoder.tokenizer, f"{whole:.1e}", f"{cached:.1e}"])
    columns = ["architecture", "published weights", "tokenizer", "logits", "logits with the cache"]
    return [Table(title="Largest difference to transformers, random weights, float32", columns=columns, rows=rows)]


def token_ids() -> np.ndarray:
    """Return a text of random tokens, (1, T) int64."""
    return np.random.RandomState(0).randint(3, 40, (1, TOKENS)).astype("int64")


def run_reference(decoder: Decoder, folder: Path) -> np.ndarray:
    """Write a folder with random weights, and compute the logits of transformers for `token_ids`: (1, T, V)."""
    (folder / "config.json").write_text(json.dumps(decoder.config, indent=1))
    np.savez(folder / "inputs.npz", input_ids=token_ids())
    files = (folder, folder / "inputs.npz", folder / "outputs.npz")
    command = [peers.TORCH_PYTHON, architecture_reference.__file__, decoder.reference, *files]
    done = subprocess.run(list(map(str, command)), check=False, capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise RuntimeError(done.stderr)
    with np.load(folder / "outputs.npz") as found:
        return found["logits"]


def logits(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Compute the logits of tfattn for `token_ids`, at once and in parts with the key-value cache: (1, T, V) each."""
    from tfattn import pretrained, registry

    weights = pretrained.open(folder)
    model = registry.find("models", weights.model)(**weights.sizes())
    report = weights.load_into(model)
    if report.unused:
        raise RuntimeError(f"tensors are unused: {', '.join(report.unused)}")
    ids = token_ids().astype("int32")
    cache, start, parts = model.empty_cache(1), 0, []
    for size in PARTS:
        x, cache = model.read(ids[:, start : start + size], cache)
        cache = cache.merged(1) if size == 1 else cache
        parts.append(np.asarray(model.next_logits(x)))
        start += size
    return np.asarray(model({"token_ids": ids})["logits"]), np.concatenate(parts, axis=1)
