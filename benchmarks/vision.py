"""A training step of a Vision Transformer with a linear classifier, compared with peers."""

import json
from collections.abc import Iterator

import keras
import keras_hub
import numpy as np
import tensorflow as tf

from benchmarks import peers
from benchmarks.encoder import POLICIES, forward_and_step
from benchmarks.results import Table
from benchmarks.timing import comparison, medians
from tfattn.models.vit import Vit
from tfattn.tasks.classification import Classification

# The sizes, the rows of a batch and the number of classes.
SHAPES = {
    "ViT-S/16, 224 x 224": (
        {
            "image_size": 224,
            "patch_size": 16,
            "hidden_dim": 384,
            "num_layers": 12,
            "num_heads": 6,
            "intermediate_dim": 1536,
        },
        16,
        1000,
    ),
    "ViT of width 192 and 6 layers, patches of 4, 32 x 32": (
        {
            "image_size": 32,
            "patch_size": 4,
            "hidden_dim": 192,
            "num_layers": 6,
            "num_heads": 3,
            "intermediate_dim": 768,
        },
        128,
        10,
    ),
}
ROUNDS = 5


def main() -> Iterator[Table]:
    """Measure each shape in both precisions."""
    for shape, (sizes, rows, classes) in SHAPES.items():
        for precision, policy in POLICIES.items():
            keras.config.set_dtype_policy(policy)
            steps = {"tfattn": run_tfattn(sizes, rows, classes), "keras_hub": keras_hub_vit(sizes, rows, classes)}
            seconds = medians(steps, rounds=ROUNDS)
            if peers.has_transformers():
                seconds["transformers + torch"] = transformers_vit(sizes, rows, classes, precision)
            note = f"Batches of {rows}, {classes:,} classes, AdamW, no dropout; medians of {ROUNDS} rounds."
            title = f"a training step of {shape}, {precision}"
            yield comparison(title, seconds, unit="images", amount=rows, notes=(note,))


def batch(sizes, rows: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Create random images (B, Y, X, 3) and labels (B,)."""
    side = sizes["image_size"]
    images = np.random.default_rng(0).random((rows, side, side, 3), dtype="float32")
    return images, np.arange(rows, dtype="int32") % classes


def run_tfattn(sizes, rows: int, classes: int):
    targets = {"labels": [str(number) for number in range(classes)], "counts": [1] * classes}
    task = Classification(model=Vit(**sizes), targets=targets)
    images, labels = map(tf.constant, batch(sizes, rows, classes))
    return forward_and_step(task, {"images": images}, {"label_ids": labels, "weights": tf.ones(rows)})[1]


def keras_hub_vit(sizes, rows: int, classes: int):
    named = {"image_size": "image_shape", "intermediate_dim": "mlp_dim"}
    theirs = {named.get(name, name): value for name, value in sizes.items()}
    theirs["image_shape"] = (sizes["image_size"], sizes["image_size"], 3)
    backbone = keras_hub.models.ViTBackbone(**theirs)
    model = keras_hub.models.ViTImageClassifier(backbone, num_classes=classes, preprocessor=None)
    # Without XLA, which is slower on CPUs.
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.AdamW(1e-4, weight_decay=0.01), loss, jit_compile=False)
    images, labels = batch(sizes, rows, classes)
    return lambda: model.train_on_batch(images, labels)


def transformers_vit(sizes, rows: int, classes: int, precision: str) -> float:
    """Return the median seconds of a step."""
    return float(peers.last_line(TRANSFORMERS, json.dumps(sizes), rows, classes, precision, ROUNDS))


TRANSFORMERS = """
import json, statistics, sys, time
import torch, transformers
sizes, precision = json.loads(sys.argv[1]), sys.argv[4]
rows, classes, rounds = (int(sys.argv[number]) for number in (2, 3, 5))
config = transformers.ViTConfig(
    image_size=sizes["image_size"], patch_size=sizes["patch_size"], hidden_size=sizes["hidden_dim"],
    num_hidden_layers=sizes["num_layers"], num_attention_heads=sizes["num_heads"],
    intermediate_size=sizes["intermediate_dim"], num_labels=classes,
)
model = transformers.ViTForImageClassification(config).train()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.01)
images, labels = torch.rand(rows, 3, sizes["image_size"], sizes["image_size"]), torch.arange(rows) % classes
times = []
for _ in range(rounds + 1):
    started = time.perf_counter()
    with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bfloat16"):
        loss = model(images, labels=labels).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    times.append(time.perf_counter() - started)
print(statistics.median(times[1:]))
"""
