"""Text classification: pooling, freezing, class weights, losses, predictions and metrics."""

import keras
import numpy as np
import pytest

from tfattn.errors import ConfigError
from tfattn.models.bert import Bert
from tfattn.tasks.classification import Classification

DRAW = np.random.default_rng(0)
REAL = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1], [1, 1, 0, 0, 0], [1, 1, 1, 1, 0]], bool)
FEATURES = {"token_ids": DRAW.integers(1, 50, size=(4, 5)).astype("int32"), "padding_mask": REAL}
BATCH = {"label_ids": np.array([0, 1, 2, 1], "int32"), "weights": np.array([1, 1, 1, 0], "float32")}
TARGETS = {"labels": ["Leak", "Fire", "Noise"], "counts": [1, 2, 5]}


def classifier(**options):
    encoder = Bert(
        vocabulary_size=50, hidden_dim=16, num_layers=2, num_heads=2, intermediate_dim=32, initializer_range=0.3
    )
    return Classification(model=encoder, targets=TARGETS, **options)


def array(tensor):
    return keras.ops.convert_to_numpy(tensor)


def loss_of(task, outputs, batch=BATCH):
    (loss,), (weights,) = task.loss_terms(outputs, batch).values(), task.loss_weights(batch).values()
    loss, weights = array(loss), array(weights)
    assert loss.shape == weights.shape == (4,)
    assert loss.dtype == weights.dtype == "float32"
    return loss, weights


@pytest.mark.parametrize("pooling", ["mean", "max", "cls", "pooler"])
def test_pooling(pooling):
    task = classifier(pooling=pooling)
    encoded = array(task(FEATURES)["encoded"])
    outputs = {name: array(value) for name, value in task.model(FEATURES).items() if name != "hidden_states"}
    sequence = outputs["sequence_output"]
    expected = {
        "mean": np.stack([row[real].mean(0) for row, real in zip(sequence, REAL, strict=True)]),
        "max": np.stack([row[real].max(0) for row, real in zip(sequence, REAL, strict=True)]),
        "cls": sequence[:, 0],
        "pooler": outputs["pooled_output"],
    }[pooling]
    np.testing.assert_allclose(encoded, expected, atol=1e-5)
    trained = [v.path for v in task.trainable_variables]
    assert any("pooler" in path for path in trained) == (pooling == "pooler")


@pytest.mark.parametrize(("layers", "chosen"), [("all", slice(None)), (2, slice(1, None))])
def test_several_layers_are_concatenated_with_equal_norms(layers, chosen):
    task = classifier(pooling="cls", pooled_layers=layers)
    states = [array(state)[:, 0] for state in task.model(FEATURES)["hidden_states"]][chosen]
    expected = np.concatenate([(x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True) for x in states], axis=1)
    np.testing.assert_allclose(array(task(FEATURES)["encoded"]), expected, atol=1e-3)
    assert task.head.kernel.shape == (expected.shape[1], 3)


@pytest.mark.parametrize("wrong", [{"pooled_layers": 4}, {"pooled_layers": 2, "pooling": "pooler"}])
def test_missing_layers_are_refused(wrong):
    with pytest.raises(ConfigError, match="layer"):
        classifier(**wrong)


def test_windows_of_a_text_are_predicted_by_their_mean():
    task = classifier()
    scores = np.array([[0.6, 0.4, 0.0], [0.1, 0.7, 0.2], [0.2, 0.3, 0.5]], "float32")
    found = task.merge_examples({"scores": scores, "label_ids": np.array([0, 1, 2])}, np.array([0, 0, 1]), 2)
    np.testing.assert_allclose(array(found["scores"]), [[0.35, 0.55, 0.1], [0.2, 0.3, 0.5]], atol=1e-6)
    assert array(found["label_ids"]).tolist() == [1, 2]


@pytest.mark.parametrize("pooling", ["mean", "max", "cls", "pooler"])
def test_padding_changes_nothing(pooling):
    task = classifier(pooling=pooling)
    changed = {**FEATURES, "token_ids": np.where(REAL, FEATURES["token_ids"], 9)}
    np.testing.assert_allclose(array(task(changed)["logits"]), array(task(FEATURES)["logits"]), atol=1e-5)


def test_precomputed_vectors_give_equal_results():
    task = classifier(encoder="frozen")
    encoded = array(task.encode(FEATURES))
    assert encoded.shape == (4, 16) and encoded.dtype == "float32"
    np.testing.assert_array_equal(array(task({"encoded": encoded})["logits"]), array(task(FEATURES)["logits"]))


def test_a_frozen_encoder_trains_only_the_head_without_dropout():
    task = classifier(encoder="frozen")
    assert task.encoder_is_frozen
    assert [v.path for v in task.trainable_variables] == ["head/kernel", "head/bias"]
    assert [[v.path for v in group] for group in task.depth_groups()] == [["head/kernel", "head/bias"]]
    np.testing.assert_array_equal(array(task.encode(FEATURES, training=True)), array(task.encode(FEATURES)))


@pytest.mark.parametrize("pooling", ["mean", "pooler"])
def test_depth_groups_hold_every_trainable_variable_once_head_last(pooling):
    task = classifier(pooling=pooling)
    groups = task.depth_groups()
    paths = [v.path for group in groups for v in group]
    assert sorted(paths) == sorted(v.path for v in task.trainable_variables)
    assert [v.path for v in groups[-1]] == ["head/kernel", "head/bias"]


def test_loss_is_cross_entropy_with_weight_0_for_padding_rows():
    task = classifier()
    logits = np.array([[2.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 1.0, 3.0], [9.0, 0.0, 0.0]], "float32")
    loss, weights = loss_of(task, {"logits": logits})
    # -log(e^2 / (e^2 + 2)), log 3, -log(e^3 / (1 + e + e^3)), log(e^9 + 2)
    np.testing.assert_allclose(loss, [0.2395448, 1.0986123, 0.1698460, 9.0002468], rtol=1e-5)
    np.testing.assert_array_equal(weights, [1, 1, 1, 0])


def test_label_smoothing():
    logits = np.array([[2.0, 0.0, 0.0]] * 4, "float32")
    plain, _ = loss_of(classifier(), {"logits": logits})
    smooth, _ = loss_of(classifier(label_smoothing=0.3), {"logits": logits})
    each = -np.log(np.exp(logits[0]) / np.exp(logits[0]).sum())
    np.testing.assert_allclose(smooth, 0.7 * plain + 0.3 * each.mean(), rtol=1e-5)


def test_balanced_weights_give_every_label_the_same_total():
    task = classifier(class_weights="balanced")
    np.testing.assert_allclose(np.array(task.weight_of_class) * TARGETS["counts"], 8 / 3)
    _, weights = loss_of(task, task(FEATURES))
    np.testing.assert_allclose(weights, [8 / 3, 4 / 3, 8 / 15, 0], rtol=1e-6)


def test_a_table_of_weights_leaves_other_labels_at_one():
    task = classifier(class_weights={"Fire": 3.0})
    np.testing.assert_allclose(loss_of(task, task(FEATURES))[1], [1, 3, 1, 0])


def test_an_unknown_label_in_the_table():
    with pytest.raises(
        ConfigError, match="expected some of Leak, Fire, Noise, received 'leek'. Did you mean `Leak`"
    ) as caught:
        classifier(class_weights={"leek": 2.0})
    assert caught.value.key == "class_weights"


def test_predictions():
    predictions = {name: array(value) for name, value in classifier().predictions(classifier()(FEATURES)).items()}
    assert predictions["scores"].shape == (4, 3) and predictions["scores"].dtype == "float32"
    np.testing.assert_allclose(predictions["scores"].sum(-1), 1, rtol=1e-6)
    assert predictions["label_ids"].dtype == "int32"
    np.testing.assert_array_equal(predictions["label_ids"], predictions["scores"].argmax(-1))


def test_metrics_by_hand():
    # Label 0: 1 of 1 found, 1 of 2 right. Label 1: 1 of 2 found, 1 of 1 right. Label 2 does not occur.
    task, logits = classifier(), np.eye(3, dtype="float32")[[0, 0, 1, 2]]
    batch = {"label_ids": np.array([0, 1, 1, 2], "int32"), "weights": np.array([1, 1, 1, 0], "float32")}
    assert task.per_example({"logits": logits}, batch) == {}
    statistics = {name: array(value) for name, value in task.statistics({"logits": logits}, batch).items()}
    assert task.metrics_from(statistics, {}) == pytest.approx(
        {
            "accuracy": 2 / 3,
            "macro_precision": 0.5,
            "macro_recall": 0.5,
            "macro_f1": (2 / 3 + 2 / 3) / 3,
            "matthews_correlation": 0.5,
        }
    )


def test_in_bfloat16_the_head_and_its_outputs_are_float32():
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        task = classifier(encoder="frozen")
    finally:
        keras.config.set_dtype_policy("float32")
    outputs = task(FEATURES)
    assert {keras.backend.standardize_dtype(value.dtype) for value in outputs.values()} == {"float32"}
    encoded = array(task.encode(FEATURES))
    np.testing.assert_array_equal(array(task({"encoded": encoded})["logits"]), array(outputs["logits"]))


def test_training_lowers_the_loss():
    keras.utils.set_random_seed(0)
    task = classifier(dropout=0.0)

    class Trained(keras.Model):
        def __init__(self):
            super().__init__()
            self.task = task

        def call(self, features):
            return self.task(features)["logits"]

        def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
            batch = {"label_ids": y, "weights": BATCH["weights"]}
            (loss,), (weights,) = task.loss_terms({"logits": y_pred}, batch).values(), task.loss_weights(batch).values()
            return keras.ops.sum(loss * weights) / keras.ops.sum(weights)

    model = Trained()
    model.compile(optimizer=keras.optimizers.Adam(1e-2), jit_compile=False)
    losses = [float(np.ravel(model.train_on_batch(FEATURES, BATCH["label_ids"]))[0]) for _ in range(8)]
    assert losses[-1] < 0.5 * losses[0]


def test_r_drop_compares_two_passes():
    task = classifier(r_drop=2.0, dropout=0.5)
    outputs = task(FEATURES, training=True)
    assert outputs["other_logits"].shape == (4, 1, outputs["logits"].shape[-1])
    p, q = (array(keras.ops.softmax(x)) for x in (outputs["logits"], outputs["other_logits"][:, 0]))
    assert np.abs(p - q).max() > 1e-3
    terms = {name: array(term) for name, term in task.loss_terms(outputs, BATCH).items()}
    rows, labels = np.arange(4), BATCH["label_ids"]
    np.testing.assert_allclose(terms["cross_entropy"], -np.log(p[rows, labels] * q[rows, labels]) / 2, rtol=1e-4)
    both = (p * np.log(p / q)).sum(1) + (q * np.log(q / p)).sum(1)
    np.testing.assert_allclose(terms["consistency"], both / 2, rtol=1e-3, atol=1e-6)
    assert set(task.loss_weights(BATCH)) == set(terms) == set(task.loss_names)


def test_r_drop_does_not_change_validation():
    task = classifier(r_drop=2.0)
    outputs = task(FEATURES)
    terms = task.loss_terms(outputs, BATCH)
    assert "other_logits" not in outputs and not array(terms["consistency"]).any()
    plain = classifier().loss_terms(outputs, BATCH)
    np.testing.assert_array_equal(array(terms["cross_entropy"]), array(plain["cross_entropy"]))
