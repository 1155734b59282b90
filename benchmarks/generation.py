"""Text generation compared with peers: generated tokens, prompt tokens, and training steps per second.

GPT-2 (124M) and the shape of SmolLM2 (135M), with random weights and the same token ids. All candidates decode
greedily, with the requested number of tokens. Each candidate runs in a separate process; weights have the type of the
computation.
"""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks import peers
from benchmarks.generation_scripts import (
    KERAS_HUB,
    KERAS_HUB_TRAINED,
    OURS,
    OURS_TRAINED,
    TRANSFORMERS,
    TRANSFORMERS_TRAINED,
)
from benchmarks.results import Table

SHAPES = {
    "GPT-2": {"vocabulary_size": 50257, "hidden_dim": 768, "num_layers": 12, "num_heads": 12, "intermediate_dim": 3072},
    "SmolLM2": {
        "vocabulary_size": 49152,
        "hidden_dim": 576,
        "num_layers": 30,
        "num_heads": 9,
        "num_key_value_heads": 3,
        "intermediate_dim": 1536,
        "positions": "rotary",
        "rotary_base": 1e5,
        "normalization": "rms_norm",
        "activation": "swiglu",
        "use_bias": False,
    },
}
PROMPT, NEW, LONG, ROUNDS = 16, 64, 256, 3
COUNTS = {"prompt": PROMPT, "new": NEW, "long": LONG, "rounds": ROUNDS}
TRAIN_ROWS, TRAIN_LENGTH, TRAIN_ROUNDS = 4, 256, 3


def main() -> Iterator[Table]:
    """Measure generation and prompts in both types, then training."""
    for shape in SHAPES:
        for precision in ("float32", "bfloat16"):
            yield measure_generation(shape, precision)
    yield measure_training()


def measure_generation(shape: str, precision: str) -> Table:
    """Measure the generation of one row and of eight rows, and the reading of prompts."""
    facts = json.dumps({"shape": shape, "sizes": SHAPES[shape], "precision": precision} | COUNTS)
    scripts = {"tfattn": OURS, "keras_hub": KERAS_HUB}
    scripts |= {"transformers + torch": TRANSFORMERS} if peers.has_transformers() else {}
    found = {name: json.loads(peers.last_line(script, facts)) for name, script in scripts.items()}
    best = [max(rates[index] for name, rates in found.items() if name != "tfattn") for index in range(4)]
    rows = [[name, *(f"{rate:,.1f}" for rate in rates)] for name, rates in found.items()]
    ratios = [f"{rate / other:.2f}" for rate, other in zip(found["tfattn"][:4], best, strict=True)]
    one, eight, *_, weights = found["tfattn"]
    return Table(
        title=f"{shape}, {precision}, tokens/s of all rows",
        columns=[
            "",
            f"generated, 1 row x {NEW}",
            f"generated, 8 x {NEW}",
            f"prompt, 1 x {LONG}",
            f"prompt, 8 x {LONG}",
        ],
        rows=[[row[0], *row[1:5]] for row in rows] + [["tfattn divided by the better peer", *ratios]],
        notes=(
            f"Prompts of {PROMPT} tokens, which are read too; medians of {ROUNDS}. Weights are {weights:.2f} GB: "
            f"tfattn reads {one * weights:.0f} GB of them per second with 1 row and {eight * weights / 8:.0f} with 8; "
            "`weight_reading` measures the bound.",
        ),
    )


def measure_training() -> Table:
    """Measure training steps of GPT-2 in bfloat16."""
    tokens = TRAIN_ROWS * TRAIN_LENGTH
    token_ids = np.random.default_rng(0).integers(1, 50000, (TRAIN_ROWS, TRAIN_LENGTH + 1)).astype("int32")
    facts = json.dumps({"sizes": SHAPES["GPT-2"], "rounds": TRAIN_ROUNDS, "token_ids": token_ids.tolist()})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "batch.npz"
        np.savez(path, token_ids=token_ids, padding_mask=token_ids > 0, weights=np.ones(TRAIN_ROWS, "float32"))
        seconds = {"tfattn": float(peers.last_line(OURS_TRAINED, path, TRAIN_ROUNDS))}
    seconds["keras_hub"] = float(peers.last_line(KERAS_HUB_TRAINED, facts))
    if peers.has_transformers():
        seconds["transformers + torch"] = float(peers.last_line(TRANSFORMERS_TRAINED, facts))
    rows = [
        [name, f"{value:.2f}", f"{tokens / value:.0f}", f"{value / seconds['tfattn']:.2f}"]
        for name, value in seconds.items()
    ]
    return Table(
        title=f"a step of training GPT-2, {TRAIN_ROWS} x {TRAIN_LENGTH} tokens, bfloat16",
        columns=["", "seconds", "tokens/s", "speed-up"],
        rows=rows,
        notes=(f"AdamW, dropout 0.1; medians of {TRAIN_ROUNDS} steps.",),
    )
