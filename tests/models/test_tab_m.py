"""TabM: members are multilayer perceptrons with shared kernels, and the task averages their predictions."""

import keras
import numpy as np
import pytest

from tfattn.models.tab_m import TabM
from tfattn.tasks.classification import Classification
from tfattn.tasks.multi_label_classification import MultiLabelClassification
from tfattn.tasks.regression import Regression

NUMERIC, COUNTS, MEMBERS = 3, [4, 6], 5
SIZES = {"num_numeric": NUMERIC, "category_counts": COUNTS, "num_members": MEMBERS, "hidden_dim": 12, "num_layers": 2}
DRAW = np.random.default_rng(0)
FEATURES = {
    "numeric": DRAW.normal(size=(6, NUMERIC)).astype("float32"),
    "missing": DRAW.integers(0, 2, size=(6, NUMERIC)).astype("float32"),
    "category_ids": DRAW.integers(0, 4, size=(6, 2)).astype("int32"),
}
LABELS = {"labels": ["a", "b", "c"], "counts": [3, 2, 1]}
WEIGHTS = np.ones(6, "float32")
TASKS = {
    "classification": (Classification, LABELS, {"label_ids": np.array([0, 1, 2, 0, 1, 0])}, "scores"),
    "several labels": (
        MultiLabelClassification,
        LABELS | {"rows": 6},
        {"label_indicators": DRAW.integers(0, 2, size=(6, 3))},
        "scores",
    ),
    "regression": (
        Regression,
        {"mean": 40.0, "deviation": 12.0},
        {"target_values": DRAW.normal(size=6).astype("float32")},
        "predictions",
    ),
}


def array(tensor):
    return keras.ops.convert_to_numpy(tensor)


def test_equals_the_formulas():
    model = TabM(**SIZES, embedding_dim=4)
    model.set_weights([DRAW.normal(0, 0.4, size=weight.shape) for weight in model.weights])
    weights = {v.path.removeprefix("tab_m/"): array(v).astype("float64") for v in model.weights}
    numbers = FEATURES["numeric"][..., None] * weights["numeric/projection/kernel"][:, 0]
    numbers = numbers + weights["numeric/projection/bias"] + FEATURES["missing"][..., None] * weights["missing/vectors"]
    categories = weights["category/embeddings"][FEATURES["category_ids"] + np.array([0, COUNTS[0]])]
    tokens = np.concatenate([numbers, categories + weights["category/bias"]], axis=1).reshape(6, -1)
    for member in range(MEMBERS):
        x = tokens
        for layer in ("layer_0", "layer_1"):
            scale_in, scale_out, bias = (
                weights[f"{layer}/{name}"][member] for name in ("scale_in", "scale_out", "bias")
            )
            x = np.maximum((x * scale_in) @ weights[f"{layer}/kernel"] * scale_out + bias, 0)
        np.testing.assert_allclose(array(model(FEATURES)["pooled_output"])[:, member], x, rtol=1e-4, atol=1e-5)


def test_members_differ_first_by_a_scale_of_each_column():
    model = TabM(**SIZES, embedding_dim=4)
    first, second = model.layers_of_members
    scales = array(first.scale_in).reshape(MEMBERS, NUMERIC + 2, 4)
    assert (scales == scales[:, :, :1]).all() and np.unique(scales).size == MEMBERS * (NUMERIC + 2)
    assert (array(second.scale_in) == 1).all() and (array(second.scale_out) == 1).all()


@pytest.mark.parametrize("name", TASKS)
def test_the_prediction_is_the_mean_of_members_and_the_loss_the_mean_of_their_losses(name):
    kind, targets, batch, predicted = TASKS[name]
    task = kind(model=TabM(**SIZES), targets=targets)
    task.head.kernel.assign(DRAW.normal(size=task.head.kernel.shape))
    outputs = task(FEATURES)
    members = [{"logits": outputs["member_logits"][:, member]} for member in range(MEMBERS)]
    alone = [array(task.predictions(member)[predicted]) for member in members]
    assert np.ptp(alone, axis=0).max() > 0.01
    np.testing.assert_allclose(array(task.predictions(outputs)[predicted]), np.mean(alone, axis=0), rtol=1e-5)
    batch = batch | {"weights": WEIGHTS}
    [loss] = task.loss_terms(outputs, batch).values()
    losses = [array(next(iter(task.loss_terms(member, batch).values()))) for member in members]
    np.testing.assert_allclose(array(loss), np.mean(losses, axis=0), rtol=1e-5)


def test_a_member_is_trained_by_its_own_loss_alone():
    task = Classification(model=TabM(**SIZES, dropout=0.0), targets=LABELS)
    outputs = task(FEATURES)
    others = outputs | {"member_logits": keras.ops.concatenate([outputs["member_logits"][:, :1]] * MEMBERS, axis=1)}
    batch = TASKS["classification"][2] | {"weights": WEIGHTS}
    [alone] = task.loss_terms({"logits": outputs["member_logits"][:, 0]}, batch).values()
    [loss] = task.loss_terms(others, batch).values()
    np.testing.assert_allclose(array(loss), array(alone), rtol=1e-5)


def test_depth_groups_hold_every_trainable_variable_once_head_last():
    task = Classification(model=TabM(**SIZES), targets=LABELS)
    groups = [[v.path for v in group] for group in task.depth_groups()]
    assert sorted(path for group in groups for path in group) == sorted(v.path for v in task.trainable_variables)
    assert groups[-1] == ["head/kernel", "head/bias"]
