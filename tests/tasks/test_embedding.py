"""Text embeddings: losses, metrics, and messages about losses that do not fit the data."""

import keras
import numpy as np
import pytest
from keras import ops

from tests.contracts.task import check_task
from tests.tasks.small_encoder import arrays, small_encoder
from tfattn.errors import ConfigError
from tfattn.models.bert import Bert
from tfattn.tasks.embedding import Embedding

DRAW = np.random.default_rng(1)
PAIRS, TRIPLETS = ["anchor", "positive"], ["anchor", "positive", "negative"]


def batch(texts=2, rows=4):
    """Rows of texts of 2 to 6 tokens, whose anchors are shorter."""
    lengths = np.minimum(DRAW.integers(2, 7, (rows, texts)), np.array([3, 9, 9])[:texts])
    real = np.arange(8) < lengths[:, :, None]
    return {
        "token_ids": np.where(real, DRAW.integers(1, 50, size=real.shape), 0).astype("int32"),
        "segment_ids": np.zeros(real.shape, "int32"),
        "padding_mask": real,
        "text_hashes": DRAW.integers(-(2**31), 2**31, (rows, texts, 2)).astype("int32"),
        "target_values": np.array([0.0, 2.5, 1.0, 5.0], "float32")[:rows],
        "weights": np.ones(rows, "float32"),
    }


def embedder(columns=PAIRS, *, scored=False, model=small_encoder, **options):
    facts = {"scored": scored, **({"low": 0.0, "high": 5.0} if scored else {})}
    return Embedding(model=model(), targets=facts, examples={"columns": columns}, **options)


def with_dropout():
    return Bert(vocabulary_size=50, hidden_dim=16, num_layers=1, num_heads=2, intermediate_dim=32, dropout=0.5)


def loss_of(task, rows):
    (terms,) = arrays(task.loss_terms(task(rows), rows)).values()
    return terms


def unit(x):
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def cross_entropy(logits):
    return np.log(np.exp(logits).sum(axis=1)) - np.diag(logits)


@pytest.mark.parametrize(
    ("columns", "scored", "options"),
    [
        (PAIRS, False, {"symmetric": True, "dimensions": [16, 4]}),
        (TRIPLETS, False, {"pooling": "cls", "normalize": False}),
        (PAIRS, True, {"pooling": "pooler"}),
        (PAIRS, True, {"loss": "cosine", "dimensions": [8, 2], "dimension_weights": [1.0, 0.5]}),
        (PAIRS, True, {"loss": "simcse", "model": with_dropout}),
        (["text"], False, {"loss": "simcse", "model": with_dropout}),
    ],
)
def test_contract(columns, scored, options, tmp_path):
    keras.utils.set_random_seed(1)
    check_task(lambda: embedder(columns, scored=scored, **options), batch(len(columns)), folder=tmp_path)


def test_each_text_is_encoded_by_itself():
    task, rows = embedder(TRIPLETS), batch(3)
    together = arrays(task(rows))["encoded"]
    for number in range(3):
        alone = {name: rows[name][:, number] for name in ("token_ids", "segment_ids", "padding_mask")}
        np.testing.assert_allclose(arrays(task(alone))["encoded"], together[:, number], rtol=1e-4, atol=1e-5)


def test_in_batch_negatives_with_hard_negatives_equal_numpy():
    task, rows = embedder(TRIPLETS, temperature=0.1), batch(3)
    anchors, positives, negatives = np.moveaxis(unit(np.float64(arrays(task(rows))["encoded"])), 1, 0)
    logits = anchors @ np.concatenate([positives, negatives]).T / 0.1
    np.testing.assert_allclose(loss_of(task, rows), cross_entropy(logits), rtol=1e-4, atol=1e-4)


def test_symmetric_is_the_mean_of_both_directions():
    task, rows = embedder(symmetric=True), batch()
    anchors, positives = np.moveaxis(unit(np.float64(arrays(task(rows))["encoded"])), 1, 0)
    logits = anchors @ positives.T / 0.05
    expected = (cross_entropy(logits) + cross_entropy(logits.T)) / 2
    np.testing.assert_allclose(loss_of(task, rows), expected, rtol=1e-4, atol=1e-4)


def test_equal_texts_and_rows_that_fill_the_batch_are_no_negatives():
    task, rows = embedder(), batch()
    rows["text_hashes"][1, 1] = rows["text_hashes"][0, 1]  # the same positive
    rows["text_hashes"][2, 0] = rows["text_hashes"][0, 0]  # the same anchor
    rows["weights"][3] = 0
    anchors, positives = np.moveaxis(unit(np.float64(arrays(task(rows))["encoded"])), 1, 0)
    logits = anchors @ positives.T / 0.05
    found = loss_of(task, rows)
    assert found[0] == pytest.approx(0, abs=1e-5)  # both others belong to it
    assert found[1] == pytest.approx(cross_entropy(logits[1:3, 1:3])[0], rel=1e-4)
    assert found[2] == pytest.approx(cross_entropy(logits[1:3, 1:3])[1], rel=1e-4)


def test_simcse_compares_two_encodings_of_each_text():
    task, rows = embedder(["text"], loss="simcse", model=with_dropout), batch(1)
    outputs = arrays(task(rows, training=True))
    first, second = (unit(np.float64(outputs[name][:, 0])) for name in ("encoded", "second_encoded"))
    assert np.abs(first - second).max() > 0.01
    found = arrays(task.loss_terms(outputs, rows))["simcse"]
    np.testing.assert_allclose(found, cross_entropy(first @ second.T / 0.05), rtol=1e-4, atol=1e-4)


def test_the_cosine_loss_scales_scores_to_the_range_of_the_training_rows():
    task, rows = embedder(scored=True, loss="cosine"), batch()
    anchors, positives = np.moveaxis(unit(arrays(task(rows))["encoded"]), 1, 0)
    expected = ((anchors * positives).sum(-1) - rows["target_values"] / 5) ** 2
    np.testing.assert_allclose(loss_of(task, rows), expected, rtol=1e-4, atol=1e-5)


def test_matryoshka_is_the_weighted_sum_over_cut_vectors():
    keras.utils.set_random_seed(2)
    rows = batch()
    task = embedder(scored=True, dimensions=[16, 4], dimension_weights=[1.0, 0.5])
    outputs = arrays(task(rows))
    parts = []
    for size in (16, 4):
        alone = embedder(scored=True)
        parts.append(arrays(alone.loss_terms({"encoded": outputs["encoded"][..., :size]}, rows))["cosent"])
    np.testing.assert_allclose(loss_of(task, rows), parts[0] + 0.5 * parts[1], rtol=1e-5)


def test_predictions_are_cut_and_normalized():
    rows = batch()
    task = embedder(dimensions=[8, 4])
    found = ops.convert_to_numpy(task.predictions(task(rows))["embedding"])
    assert found.shape == (4, 2, 8)
    np.testing.assert_allclose(np.linalg.norm(found, axis=-1), 1, rtol=1e-5)
    task.normalize = False
    np.testing.assert_allclose(task.predictions(task(rows))["embedding"], arrays(task(rows))["encoded"][..., :8])


@pytest.mark.parametrize(
    ("columns", "scored", "options", "message"),
    [
        (PAIRS, False, {"loss": "cosent"}, "compares similarities with scores: expected `data.targets.scored: true`"),
        (PAIRS, True, {"loss": "in_batch_negatives"}, "a score is for a pair of texts.*Remove `data.targets.scored`"),
        (TRIPLETS, True, {}, "two roles in `data.examples.columns`"),
        (["text"], False, {}, "single texts have no positive text: expected simcse"),
        (PAIRS, False, {"loss": "simcse"}, "both vectors of a text would be equal"),
        (PAIRS, False, {"dimensions": [32, 16]}, "do not fit the encoder: expected descending numbers of at most 16"),
        (PAIRS, False, {"dimensions": [4, 8]}, "descending"),
        (PAIRS, False, {"dimensions": [8, 4], "dimension_weights": [1.0]}, "each dimension has a weight"),
    ],
)
def test_a_loss_that_does_not_fit_is_refused(columns, scored, options, message):
    with pytest.raises(ConfigError, match=message):
        embedder(columns, scored=scored, **options)
