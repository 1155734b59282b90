"""A step of masked language modeling compared with peers, in tokens per second without padding; and with packing.

All candidates have the same rows: nine of ten have the maximum length, the others any length, as in BERT's data. Each
candidate trains as it usually does: tfattn with a device per core, as pipelines do; KerasHub gathers the masked
positions, as tfattn does; transformers computes the scores of all tokens.
"""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import keras
import keras_hub
import numpy as np

from benchmarks import peers
from benchmarks.pretraining_step import ENCODERS, ROUNDS, SIZES, VOCABULARY
from benchmarks.results import Table
from benchmarks.timing import comparison, medians
from tfattn.training.precision import POLICIES, fastest

BATCH, LENGTH, FIRST, MASK = 32, 128, 5, 4
FRACTION = 0.15


def main() -> Iterator[Table]:
    """Measure padded rows and peers, then texts of all lengths, padded and packed."""
    precision = fastest()[0]
    keras.config.set_dtype_policy(POLICIES[precision])
    features = batch(lengths())
    tokens = int(features["padding_mask"].sum())
    seconds = {"tfattn": run_tfattn("Bert", features), **medians({"keras_hub": kerashub(features)}, rounds=ROUNDS)}
    if peers.has_transformers():
        seconds["transformers + torch"] = transformers(features, precision)
    sizes = f"BERT-Mini, {VOCABULARY:,} tokens, {BATCH} rows of up to {LENGTH}"
    note = f"{sizes}, AdamW, dropout 0.1; medians of {ROUNDS} steps."
    yield comparison(f"a step of masked LM, {precision}", seconds, unit="tokens", amount=tokens, notes=(note,))
    yield from packing(precision)


def packing(precision: str) -> Iterator[Table]:
    """Measure texts of all lengths, one or several per row."""
    texts = np.random.default_rng(1).integers(8, LENGTH // 2, 4 * BATCH)
    padded, packed = batch(texts), batch(texts, is_packed=True)
    tokens = int(padded["padding_mask"].sum())
    assert tokens == packed["padding_mask"].sum()
    for name in ENCODERS:
        seconds = {"packed": run_tfattn(name, packed), "padded": run_tfattn(name, padded)}
        shapes = f"{len(packed['token_ids'])} x {LENGTH} packed, {len(texts)} x {padded['token_ids'].shape[1]} padded."
        title = f"texts of 8 to {LENGTH // 2} tokens, {name}, {precision}"
        yield comparison(title, seconds, unit="tokens", amount=tokens, notes=(shapes,))


def lengths() -> np.ndarray:
    """Sample the lengths of rows, (32,), as BERT's data tool does: short rows among full rows."""
    draw = np.random.default_rng(0)
    return np.where(draw.random(BATCH) < 0.1, draw.integers(8, LENGTH, BATCH), LENGTH)


def batch(lengths: np.ndarray, *, is_packed: bool = False) -> dict[str, np.ndarray]:
    """Return random texts of these lengths with masked tokens, one per row or packed."""
    draw = np.random.default_rng(2)
    rows: list[list[int]] = []
    for length in lengths.tolist():
        if is_packed and rows and sum(rows[-1]) + length <= LENGTH:
            rows[-1].append(length)
        else:
            rows.append([length])
    width = max(map(sum, rows))
    sequence_ids = np.zeros((len(rows), width), "int32")
    for row, texts in zip(sequence_ids, rows, strict=True):
        row[: sum(texts)] = np.repeat(np.arange(1, len(texts) + 1), texts)
    real = sequence_ids > 0
    token_ids = np.where(real, draw.integers(FIRST, VOCABULARY, real.shape), 0).astype("int32")
    count = max(1, round(FRACTION * width))
    positions = np.sort(np.argsort(np.where(real, draw.random(real.shape), 1.0), axis=1)[:, :count], axis=1)
    weights = np.take_along_axis(real, positions, axis=1) & (
        np.arange(count) < np.round(FRACTION * real.sum(1))[:, None]
    )
    ids = np.where(weights, np.take_along_axis(token_ids, positions, axis=1), 0)
    hidden = np.take_along_axis(token_ids, positions, axis=1)
    np.put_along_axis(token_ids, positions, np.where(weights, MASK, hidden), axis=1)
    return {
        "token_ids": token_ids,
        "padding_mask": real,
        "segment_ids": np.zeros_like(token_ids),
        "masked_lm_positions": positions.astype("int32"),
        "masked_lm_ids": ids.astype("int32"),
        "masked_lm_weights": weights.astype("float32"),
        "weights": np.ones(len(rows), "float32"),
        **({"sequence_ids": sequence_ids} if is_packed else {}),
    }


def run_tfattn(encoder: str, features: dict[str, np.ndarray]) -> float:
    """Return the median seconds of a step."""
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder) / "batch.npz", **features)
        return float(peers.last_line(OURS, encoder, Path(folder) / "batch.npz"))


OURS = """
import sys
from benchmarks import pretraining_step
print(pretraining_step.seconds(*sys.argv[1:]))
"""


def kerashub(features):
    backbone = keras_hub.models.BertBackbone(vocabulary_size=VOCABULARY, max_sequence_length=512, **SIZES)
    model = keras_hub.models.BertMaskedLM(backbone, preprocessor=None)
    # Without XLA, which is slower on CPUs.
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.AdamW(1e-4, weight_decay=0.01), loss, jit_compile=False)
    inputs = {name: features[name] for name in ("token_ids", "padding_mask", "segment_ids")}
    inputs["mask_positions"] = features["masked_lm_positions"]
    return lambda: model.train_on_batch(inputs, features["masked_lm_ids"], features["masked_lm_weights"])


def transformers(features, precision) -> float:
    """Return the median seconds of a step."""
    labels = np.full(features["token_ids"].shape, -100)
    counted = features["masked_lm_weights"] > 0
    rows = np.nonzero(counted)[0]
    labels[rows, features["masked_lm_positions"][counted]] = features["masked_lm_ids"][counted]
    facts = {"sizes": SIZES, "vocabulary": VOCABULARY, "precision": precision, "rounds": ROUNDS}
    facts |= {"labels": labels.tolist(), "token_ids": features["token_ids"].tolist()}
    facts |= {"mask": features["padding_mask"].astype(int).tolist()}
    return float(peers.last_line(TRANSFORMERS, json.dumps(facts)))


TRANSFORMERS = """
import json, statistics, sys, time
import torch, transformers
facts = json.loads(sys.argv[1])
sizes = facts["sizes"]
config = transformers.BertConfig(
    vocab_size=facts["vocabulary"], hidden_size=sizes["hidden_dim"], num_hidden_layers=sizes["num_layers"],
    num_attention_heads=sizes["num_heads"], intermediate_size=sizes["intermediate_dim"],
)
model = transformers.BertForMaskedLM(config).train()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.01)
token_ids, mask, labels = (torch.tensor(facts[name]) for name in ("token_ids", "mask", "labels"))
def step():
    with torch.autocast("cpu", torch.bfloat16, enabled=facts["precision"] == "bfloat16"):
        loss = model(token_ids, attention_mask=mask, labels=labels).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
times = []
for _ in range(facts["rounds"] + 1):
    started = time.perf_counter()
    step()
    times.append(time.perf_counter() - started)
print(statistics.median(times[1:]))
"""
