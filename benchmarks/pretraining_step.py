"""A step of language modeling in our training loop, as in pipelines: a device per core."""

import statistics
import time
from pathlib import Path

import numpy as np
import tensorflow as tf

from tfattn.data.reader import RECORD_IDS
from tfattn.features import PADDING_MASK, WEIGHTS
from tfattn.models.bert import Bert
from tfattn.models.gpt import Gpt
from tfattn.models.modern_bert import ModernBert
from tfattn.tasks.language_modeling import LanguageModeling
from tfattn.tasks.masked_lm import MaskedLm
from tfattn.training.loop import Counters, TrainingLoop
from tfattn.training.optimizers import AdamW
from tfattn.training.runtime import Runtime
from tfattn.training.schedules import Constant
from tfattn.training.step import TrainingStep

VOCABULARY = 8000
SIZES = {"hidden_dim": 256, "num_layers": 4, "num_heads": 4, "intermediate_dim": 1024}  # BERT-Mini
# With gates and the same number of weights.
MODERN = {**SIZES, "intermediate_dim": 684, "dropout": 0.1, "attention_dropout": 0.1}
GPT = {"hidden_dim": 768, "num_layers": 12, "num_heads": 12, "intermediate_dim": 3072}  # GPT-2, 124M
GPT_VOCABULARY = 50257
ENCODERS = {
    "Bert": lambda: Bert(vocabulary_size=VOCABULARY, **SIZES),
    "ModernBert": lambda: ModernBert(vocabulary_size=VOCABULARY, **MODERN),
}
TASKS = {name: lambda make=make: MaskedLm(model=make()) for name, make in ENCODERS.items()}
TASKS["Gpt"] = lambda: LanguageModeling(model=Gpt(vocabulary_size=GPT_VOCABULARY, **GPT), preprocessor=None)
ROUNDS = 10


def seconds(name: str, features: Path, rounds: int | str = ROUNDS) -> float:
    """Return the median seconds of a step; requires its own process, which it divides into devices.

    Args:
        name: a name of TASKS.
        features: an .npz of a batch.
        rounds: the number of steps, after a first step that is not counted.
    """
    rounds, batch = int(rounds), dict(np.load(features))
    runtime = Runtime(logical_devices="cores").start()
    with runtime.scope():
        task = TASKS[name]()
        optimizer = AdamW(weight_decay=0.01)
        weights = [variable.value for variable in task.trainable_weights]
        optimizer.build(weights, [1.0] * len(weights))
    step = TrainingStep(
        task,
        optimizer,
        runtime,
        schedule=Constant(warmup=0),
        averaging=None,
        total_steps=1 + rounds,
        accumulation=1,
        updates=1,
        clip_norm=1.0,
        sparse_embeddings=False,
        masks=(PADDING_MASK,),
        seed=7,
        batch_rows=len(batch[WEIGHTS]),
    )
    loop, counters, times = TrainingLoop(step, runtime), Counters(), []
    batches = iter(tf.data.Dataset.from_tensor_slices(divide_rows(batch, runtime.num_replicas)).repeat())
    for _ in range(1 + rounds):
        started = time.perf_counter()
        counters = loop(batches, counters, limit=1, stop=False).counters
        times.append(time.perf_counter() - started)
    return statistics.median(times[1:])


def divide_rows(batch: dict[str, np.ndarray], parts: int) -> dict[str, np.ndarray]:
    """Divide rows into equal parts (parts, n, ...), padded with copies of the first row with weight 0."""
    rows = len(batch[WEIGHTS])
    filled = np.arange(-(-rows // parts) * parts)
    real = filled < rows
    batch = {name: values[np.where(real, filled, 0)] for name, values in batch.items()}
    batch |= {WEIGHTS: real.astype(np.float32), RECORD_IDS: np.where(real, filled, -1).astype(np.int32)}
    return {name: values.reshape(parts, -1, *values.shape[1:]) for name, values in batch.items()}
