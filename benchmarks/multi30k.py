"""The English and German sentence pairs of Multi30k, for several benchmarks."""

import os
import sys
from pathlib import Path

SIZES = {"hidden_dim": 128, "num_layers": 4, "num_heads": 4, "intermediate_dim": 256}  # of transformer_small.yaml


def folder() -> Path:
    """Return the folder with train.en, train.de, val.en and val.de: MULTI30K, or ../shared/data/multi30k."""
    path = Path(os.environ.get("MULTI30K", "../shared/data/multi30k"))
    if not (path / "train.en").is_file():
        sys.exit(f"no train.en in {path}: set the environment variable MULTI30K to the folder of Multi30k")
    return path


def lines(name: str, count: int | None = None) -> list[str]:
    """Return the first lines of a file, or all."""
    return (folder() / name).read_text(encoding="utf-8").split("\n")[:count]


def marian_config(vocabulary_size: int, *, start_id: int, end_id: int) -> dict:
    """Return the arguments of transformers.MarianConfig for a model of the same sizes."""
    sides = {
        f"{side}_{name}": SIZES[size]
        for side in ("encoder", "decoder")
        for name, size in (("layers", "num_layers"), ("attention_heads", "num_heads"), ("ffn_dim", "intermediate_dim"))
    }
    return {
        "vocab_size": vocabulary_size,
        "d_model": SIZES["hidden_dim"],
        "max_position_embeddings": 256,
        "dropout": 0.3,
        "activation_function": "relu",
        "scale_embedding": True,
        "pad_token_id": 0,
        "bos_token_id": start_id,
        "decoder_start_token_id": start_id,
        "eos_token_id": end_id,
        "forced_eos_token_id": None,
        **sides,
    }
