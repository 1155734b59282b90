"""A forward pass and a fine-tuning step of an encoder with a classification head, compared with peers."""

import json
from collections.abc import Iterator

import keras
import keras_hub
import numpy as np
import tensorflow as tf

from benchmarks import peers
from benchmarks.results import Table
from benchmarks.timing import comparison, medians
from tfattn.models.bert import Bert
from tfattn.tasks.classification import Classification
from tfattn.tasks.task import Task
from tfattn.training.optimizers import AdamW

SHAPES = {
    "BERT-base": {"hidden_dim": 768, "num_layers": 12, "num_heads": 12, "intermediate_dim": 3072},
    "MiniLM": {"hidden_dim": 384, "num_layers": 6, "num_heads": 12, "intermediate_dim": 1536},
}
POLICIES = {"float32": "float32", "bfloat16": "mixed_bfloat16"}
BATCH, LENGTH, VOCABULARY, CLASSES = 8, 128, 30522, 2
TARGETS = {"labels": ["no", "yes"], "counts": [1, 1]}
ROUNDS = 5


def main() -> Iterator[Table]:
    """Measure each shape in both precisions."""
    notes = (f"Batches of {BATCH} x {LENGTH}, {VOCABULARY:,} tokens, AdamW, dropout 0.1; medians of {ROUNDS} rounds.",)
    for shape, sizes in SHAPES.items():
        for precision in POLICIES:
            keras.config.set_dtype_policy(POLICIES[precision])
            pairs = {"tfattn": run_tfattn(sizes), "keras_hub": keras_hub_bert(sizes)}
            theirs = transformers_bert(sizes, precision) if peers.has_transformers() else {}
            for index, kind in enumerate(("forward", "training step")):
                seconds = medians({name: pair[index] for name, pair in pairs.items()}, rounds=ROUNDS)
                seconds |= {"transformers + torch": theirs[kind]} if theirs else {}
                yield comparison(
                    f"{shape} {kind}, {precision}", seconds, unit="tokens", amount=BATCH * LENGTH, notes=notes
                )


def batch() -> tuple[np.ndarray, np.ndarray]:
    """Create random token ids (8, 128) and labels (8,)."""
    random = np.random.default_rng(0)
    return random.integers(1000, VOCABULARY, (BATCH, LENGTH)).astype("int32"), np.arange(BATCH, dtype="int32") % CLASSES


def run_tfattn(sizes):
    task = Classification(model=Bert(vocabulary_size=VOCABULARY, **sizes), targets=TARGETS, pooling="pooler")
    token_ids, labels = map(tf.constant, batch())
    features = {"token_ids": token_ids, "padding_mask": token_ids > 0, "segment_ids": tf.zeros_like(token_ids)}
    return forward_and_step(task, features, {"label_ids": labels, "weights": tf.ones(BATCH)})


def forward_and_step(task: Task, features: dict[str, tf.Tensor], targets: dict[str, tf.Tensor]):
    """Return the forward pass and the training step of a task with a single loss term, as functions to time."""
    optimizer = AdamW(weight_decay=0.01)
    variables = [variable.value for variable in task.trainable_variables]
    optimizer.build(variables, [1.0] * len(variables))
    scale = tf.constant(1.0)
    forward = tf.function(lambda: task(features)["logits"])

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            (losses,) = task.loss_terms(task(features, training=True), targets).values()
            (weights,) = task.loss_weights(targets).values()
            loss = tf.reduce_sum(losses * weights) / tf.reduce_sum(weights)
        gradients = tape.gradient(loss, variables)
        dense = [gradient if gradient is None else tf.convert_to_tensor(gradient) for gradient in gradients]
        optimizer.apply(dense, scale, scale)
        return loss

    return lambda: forward().numpy(), lambda: step().numpy()


def keras_hub_bert(sizes):
    backbone = keras_hub.models.BertBackbone(vocabulary_size=VOCABULARY, **sizes)
    model = keras_hub.models.BertTextClassifier(backbone, num_classes=CLASSES, preprocessor=None)
    # Without XLA, which is slower on CPUs.
    model.compile("adamw", keras.losses.SparseCategoricalCrossentropy(from_logits=True), jit_compile=False)
    token_ids, labels = batch()
    features = {"token_ids": token_ids, "padding_mask": token_ids > 0, "segment_ids": np.zeros_like(token_ids)}
    return lambda: model.predict_on_batch(features), lambda: model.train_on_batch(features, labels)


def transformers_bert(sizes, precision) -> dict[str, float]:
    """Return the median seconds of the forward pass and the training step."""
    return json.loads(peers.last_line(TRANSFORMERS, json.dumps(sizes), precision, ROUNDS))


TRANSFORMERS = """
import json, statistics, sys, time
import torch, transformers
sizes, precision, rounds = json.loads(sys.argv[1]), sys.argv[2], int(sys.argv[3])
config = transformers.BertConfig(
    vocab_size=30522, hidden_size=sizes["hidden_dim"], num_hidden_layers=sizes["num_layers"],
    num_attention_heads=sizes["num_heads"], intermediate_size=sizes["intermediate_dim"], num_labels=2,
)
model = transformers.BertForSequenceClassification(config)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, weight_decay=0.01)
token_ids, labels = torch.randint(1000, 30522, (8, 128)), torch.arange(8) % 2
def forward():
    model.eval()
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=precision == "bfloat16"):
        model(token_ids).logits.float().numpy()
def step():
    model.train()
    with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bfloat16"):
        loss = model(token_ids, labels=labels).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
def median(call):
    times = []
    for _ in range(rounds + 1):
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return statistics.median(times[1:])
print(json.dumps({"forward": median(forward), "training step": median(step)}))
"""
