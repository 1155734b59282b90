"""A model of synthetic rows, in which 3 of 14 columns matter, has these three as its most important features."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfattn.evaluation import permutation_importance
from tfattn.models.feature_tokenizer_transformer import FeatureTokenizerTransformer
from tfattn.preprocessing.table import TableColumns
from tfattn.tasks.classification import Classification

COLUMNS = [f"Column_{number}" for number in range(14)]
TRAINING, MEASURED = 1500, 500
BATCH_SIZE, STEPS, LEARNING_RATE = 128, 200, 1e-2


def planted(seed):
    """Return rows, their labels, and the three relevant columns.

    All 14 columns are independent: normal, log-normal, or mostly 0, in turn. Three of them are relevant, by ranks
    scaled to -1 ... 1: p linearly, q by its distance from the middle, r by its sign,

        logit = 2.5 p + 5 (|q| - 1/2) + 1.5 sign(r),    label = 1 with probability 1 / (1 + exp(-logit))

    so that the best possible accuracy is about five sixths.
    """
    draw = np.random.default_rng(seed)
    numbers = draw.normal(size=(TRAINING + MEASURED, 14))
    matters = draw.choice(14, 3, replace=False)
    p, q, r = (2 * numbers[:, column].argsort().argsort() / len(numbers) - 1 for column in matters)
    logit = 2.5 * p + 5 * (np.abs(q) - 0.5) + 1.5 * np.sign(r)
    labels = (draw.random(len(numbers)) < 1 / (1 + np.exp(-logit))).astype("int32")
    numbers[:, 1::3] = np.exp(numbers[:, 1::3])
    others = [column for column in range(2, 14, 3) if column not in matters]
    numbers[:, others] = np.maximum(numbers[:, others] - 1, 0)
    rows = [dict(zip(COLUMNS, map(str, line), strict=True)) for line in numbers.round(4).tolist()]
    return rows, labels, set(matters.tolist())


def columns(rows):
    return {name: tf.constant([row[name] for row in rows]) for name in COLUMNS}


def trained(rows, labels, seed):
    """Train a small model for a few seconds, and return it as a function from raw rows to scores."""
    keras.utils.set_random_seed(seed)
    table = TableColumns(numeric=tuple(COLUMNS), bins=8, scaling="quantile")
    table.fit(rows)
    model = FeatureTokenizerTransformer(
        **table.sizes, hidden_dim=16, num_layers=1, num_heads=2, numeric_embedding="piecewise_linear"
    )
    task = Classification(model=model, targets={"labels": ["0", "1"], "counts": [1, 1]})
    optimizer = keras.optimizers.AdamW(LEARNING_RATE, weight_decay=1e-2)
    optimizer.build(task.trainable_variables)
    variables = [variable.value for variable in task.trainable_variables]

    @tf.function(autograph=False)
    def step(features, label_ids):
        with tf.GradientTape() as tape:
            batch = {"label_ids": label_ids, "weights": tf.ones([BATCH_SIZE])}
            (losses,) = task.loss_terms(task(features, training=True), batch).values()
            (weights,) = task.loss_weights(batch).values()
            loss = tf.reduce_sum(losses * weights) / tf.reduce_sum(weights)
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), task.trainable_variables, strict=True))

    features, draw = table(columns(rows)), np.random.default_rng(seed)
    for _ in range(STEPS):
        some = draw.choice(len(rows), BATCH_SIZE, replace=False)
        step({name: tf.gather(values, some) for name, values in features.items()}, tf.gather(labels, some))
    answer = tf.function(
        lambda features: task.predictions(task(features))["scores"], reduce_retracing=True, autograph=False
    )
    return lambda rows: answer(table(columns(rows))).numpy()


def found(seed):
    rows, labels, matters = planted(seed)
    ask = trained(rows[:TRAINING], labels[:TRAINING], seed)
    rows, labels = rows[TRAINING:], labels[TRAINING:]
    accuracy = np.mean(ask(rows).argmax(axis=1) == labels)
    options = {"measure": permutation_importance.of_labels(labels, 1), "repeats": 5, "seed": seed}
    ranked, _ = permutation_importance.permutation(lambda some: [ask(some)], rows, COLUMNS, labels, **options)
    return ranked, matters, accuracy


@pytest.mark.parametrize("seed", [pytest.param(seed, marks=[pytest.mark.slow] * (seed >= 2)) for seed in range(20)])
def test_the_three_relevant_columns_are_first(seed):
    ranked, matters, accuracy = found(seed)
    order = np.argsort(-ranked.mean)
    print(f"seed {seed}: accuracy {accuracy:.3f}, importance {ranked.mean[order][:4].round(4)}")
    assert set(order[:3].tolist()) == matters
    low, high = ranked.interval
    assert low[order[:3]].min() > high[order[3:]].max(), "and stand apart from all others"
    assert 0.7 < accuracy < 0.95, "it is neither too easy nor hopeless"
