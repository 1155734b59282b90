"""Image classification: the head, mixed targets, and top-5 accuracy."""

import keras
import numpy as np

from tests.contracts.task import check_task
from tfattn.models.vit import Vit
from tfattn.tasks.classification import Classification

DRAW = np.random.default_rng(0)
LABELS = [f"class {number}" for number in range(7)]
BATCH = {
    "images": DRAW.random((8, 8, 8, 3), np.float32),
    "label_ids": DRAW.integers(0, 7, 8).astype("int32"),
    "weights": np.ones(8, "float32"),
}


def classifier(labels=LABELS, **options):
    vit = Vit(image_size=8, patch_size=4, hidden_dim=8, num_layers=1, num_heads=2, intermediate_dim=16)
    targets = {"labels": labels, "counts": [1] * len(labels)}
    return Classification(model=vit, targets=targets, **options)


def test_contract(tmp_path):
    check_task(classifier, BATCH, folder=tmp_path)


def test_the_head_reads_the_vector_of_the_image():
    task = classifier()
    outputs = task(BATCH)
    pooled = keras.ops.convert_to_numpy(task.model(BATCH)["pooled_output"])
    np.testing.assert_allclose(outputs["encoded"], pooled, atol=1e-6)
    np.testing.assert_allclose(outputs["logits"], pooled @ task.head.kernel.numpy() + task.head.bias.numpy(), atol=1e-5)


def test_dropout_is_only_for_training():
    task = classifier(dropout=0.5)
    np.testing.assert_array_equal(task(BATCH)["logits"], task(BATCH)["logits"])
    assert not np.allclose(task(BATCH, training=True)["logits"], task(BATCH)["logits"])


def test_the_loss_of_a_mixture_is_weighted_over_both_labels():
    task = classifier(label_smoothing=0.1)
    outputs = task(BATCH)
    others = np.roll(BATCH["label_ids"], 1)
    shares = np.linspace(0, 0.5, 8, dtype="float32")
    own, other = (
        task.loss_terms(outputs, {**BATCH, "label_ids": ids})["cross_entropy"].numpy()
        for ids in (BATCH["label_ids"], others)
    )
    mixed = task.loss_terms(outputs, {**BATCH, "mixed_label_ids": others, "mixed_shares": shares})["cross_entropy"]
    np.testing.assert_allclose(mixed, (1 - shares) * own + shares * other, atol=1e-5)


def test_top_5_accuracy_for_more_than_five_classes():
    task = classifier()
    logits = np.tile(np.arange(7, dtype="float32"), (8, 1))  # the last five are the best
    batch = {**BATCH, "label_ids": np.array([0, 1, 2, 3, 4, 5, 6, 6], "int32")}
    batch["weights"] = np.array([1, 1, 1, 1, 1, 1, 1, 0], "float32")
    statistics = {name: np.asarray(value) for name, value in task.statistics({"logits": logits}, batch).items()}
    metrics = task.metrics_from(statistics, {})
    assert metrics["accuracy"] == 1 / 7 and np.isclose(metrics["top_5_accuracy"], 5 / 7)
    assert "top_5_accuracy" not in classifier(LABELS[:5]).metric_names
