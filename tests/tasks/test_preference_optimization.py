"""Preference optimization: the losses of the papers, computed in NumPy from the logits of the model."""

import numpy as np
import pytest
from keras import ops

from tests.contracts.task import check_task
from tests.tasks.test_language_modeling import Tokens
from tfattn.features import REFERENCE_LOG_PROBABILITIES
from tfattn.models.gpt import Gpt
from tfattn.tasks.preference_optimization import LOG_PROBABILITIES, PREFERENCE, PreferenceOptimization

LENGTHS = np.array([[7, 5], [6, 7], [4, 4], [7, 6]])


def make(seed=0, **options):
    model = Gpt(vocabulary_size=9, hidden_dim=8, num_layers=1, num_heads=2, intermediate_dim=8, dropout=0.0)
    draw = np.random.default_rng(seed)
    model.set_weights([draw.normal(size=weight.shape) for weight in model.weights])
    return PreferenceOptimization(model=model, preprocessor=Tokens(), **options)


@pytest.fixture(scope="module")
def batch():
    draw = np.random.default_rng(3)
    padding_mask = np.arange(7) < LENGTHS[:, :, None]
    return {
        "token_ids": draw.integers(1, 9, (4, 2, 7)).astype("int32") * padding_mask,
        "padding_mask": padding_mask,
        "loss_mask": ((np.arange(7) >= 3) & padding_mask).astype("int32"),
        REFERENCE_LOG_PROBABILITIES: draw.normal(size=(4, 2)).astype("float32") - 6,
        "weights": np.ones(4, "float32"),
    }


def expected_log_probabilities(task, batch):
    found = np.zeros((4, 2))
    for row, answer in np.ndindex(4, 2):
        ids = batch["token_ids"][row, answer, : LENGTHS[row, answer]]
        logits = ops.convert_to_numpy(task.model({"token_ids": ids[None]})["logits"])[0].astype("float64")
        known = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
        found[row, answer] = sum(known[place - 1, ids[place]] for place in range(3, len(ids)))
    return found


def test_the_contract_of_tasks(batch, tmp_path):
    check_task(make, batch, folder=tmp_path)


def test_log_probabilities_are_sums_over_the_answers(batch):
    task = make()
    found = ops.convert_to_numpy(task(batch)[LOG_PROBABILITIES])
    np.testing.assert_allclose(found, expected_log_probabilities(task, batch), rtol=1e-4)
    np.testing.assert_array_equal(ops.convert_to_numpy(task.precompute(batch)[REFERENCE_LOG_PROBABILITIES]), found)


@pytest.mark.parametrize("beta", [0.1, 0.5])
@pytest.mark.parametrize("options", [{}, {"label_smoothing": 0.2}, {"loss": "ipo"}])
def test_losses_and_metrics_are_those_of_the_papers(batch, beta, options):
    task = make(beta=beta, **options)
    ratios = expected_log_probabilities(task, batch) - batch[REFERENCE_LOG_PROBABILITIES]
    difference = ratios[:, 0] - ratios[:, 1]
    smoothing = options.get("label_smoothing", 0.0)
    if "loss" in options:
        expected = (difference - 1 / (2 * beta)) ** 2
    else:
        sigmoid = 1 / (1 + np.exp(-beta * difference))
        expected = -(1 - smoothing) * np.log(sigmoid) - smoothing * np.log(1 - sigmoid)
    outputs = task(batch)
    np.testing.assert_allclose(task.loss_terms(outputs, batch)[PREFERENCE], expected, rtol=1e-3)
    metrics = task.metrics_from(task.statistics(outputs, batch), {})
    rewards = beta * ratios.mean(axis=0)
    np.testing.assert_allclose(metrics["preference_accuracy"], np.mean(difference > 0))
    np.testing.assert_allclose(metrics["reward_margin"], rewards[0] - rewards[1], rtol=1e-3)
    np.testing.assert_allclose([metrics["chosen_reward"], metrics["rejected_reward"]], rewards, rtol=1e-3)


def test_the_loss_of_the_reference_is_that_of_chance(batch):
    task = make()
    start = {**batch, **task.precompute(batch)}
    np.testing.assert_allclose(task.loss_terms(task(start), start)[PREFERENCE], np.full(4, np.log(2)), rtol=1e-6)
