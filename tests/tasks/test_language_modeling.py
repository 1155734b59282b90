"""Language modeling: targets, and units of metrics."""

import math

import numpy as np
import pytest
from keras import ops

from tfattn.models.gpt import Gpt
from tfattn.tasks.language_modeling import CROSS_ENTROPY, LanguageModeling

TOKENS = (b"", b"to", b" be", b" ", b"or\n", b"no", b"t", "é".encode(), b"a b")
WEIGHTS = {"weights": np.ones(1, "float32")}


class Tokens:
    token_bytes = TOKENS


@pytest.fixture(scope="module")
def task():
    model = Gpt(vocabulary_size=9, hidden_dim=8, num_layers=1, num_heads=2, intermediate_dim=8, dropout=0.0)
    draw = np.random.default_rng(0)
    model.set_weights([draw.normal(size=weight.shape) for weight in model.weights])
    return LanguageModeling(model=model, preprocessor=Tokens())


def batch(token_ids, **more):
    token_ids = np.array([token_ids], "int32")
    return {"token_ids": token_ids, "padding_mask": np.ones_like(token_ids, bool), **WEIGHTS, **more}


def statistics(task, one):
    return {name: float(value) for name, value in task.statistics(task(one), one).items()}


@pytest.mark.parametrize("token_ids", [[0, 1, 2, 0], [0, 2, 3, 4, 5, 6, 2], [0, 8, 8, 3, 3, 7], [4, 7, 1, 0, 1, 4, 4]])
def test_words_and_bytes_are_those_of_the_text(task, token_ids):
    found = statistics(task, batch(token_ids))
    assert found["num_tokens"] == len(token_ids) - 1
    told = [TOKENS[token] or b"\n" for token in token_ids]
    before = len((told[0] + b"x").split()) - 1 if told[0][-1:].isspace() else len(told[0].split())
    assert found["num_words"] == len(b"".join(told).split()) - before
    assert found["num_bytes"] == sum(len(TOKENS[token]) for token in token_ids[1:])


def test_metrics_are_the_loss_in_other_units(task):
    one = batch([0, 1, 2, 3, 4, 5, 6])
    found = statistics(task, one)
    metrics = task.metrics_from(task.statistics(task(one), one), {})
    assert math.isclose(math.log(metrics["perplexity"]) * 6, found["surprise"], rel_tol=1e-5)
    assert math.isclose(math.log(metrics["word_perplexity"]) * found["num_words"], found["surprise"], rel_tol=1e-5)
    assert math.isclose(metrics["bits_per_byte"] * math.log(2) * found["num_bytes"], found["surprise"], rel_tol=1e-5)


def test_each_token_is_predicted_from_earlier_tokens(task):
    one = batch([5, 1, 2, 7])
    losses = ops.convert_to_numpy(task.loss_terms(task(one), one)[CROSS_ENTROPY])[0]
    logits = ops.convert_to_numpy(task.model({"token_ids": one["token_ids"]})["logits"])[0].astype("float64")
    known = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    np.testing.assert_allclose(losses, [-known[place, token] for place, token in enumerate([1, 2, 7])], atol=1e-4)


def test_masked_padding_and_first_tokens_are_not_predicted(task):
    real = np.array([[1, 1, 1, 1, 1, 0]], bool)
    loss_mask = np.array([[1, 1, 0, 1, 1, 1]], "int64")
    sequence_ids = np.array([[1, 1, 1, 1, 2, 2]], "int32")
    one = batch([1, 2, 3, 4, 5, 6], loss_mask=loss_mask, sequence_ids=sequence_ids) | {"padding_mask": real}
    assert ops.convert_to_numpy(task.loss_weights(one)[CROSS_ENTROPY]).tolist() == [[1.0, 0.0, 1.0, 0.0, 0.0]]
