"""Bidirectional language modeling: targets, contexts and metrics."""

import math

import keras
import numpy as np
import pytest

from tests.contracts.task import check_task
from tests.models.test_elmo import SIZES, characters
from tfattn.models.elmo import Elmo
from tfattn.tasks.bidirectional_language_modeling import BidirectionalLanguageModeling

NUM_WORDS = 12
IDS = np.array([[0, 4, 5, 6, 1, 0], [7, 1, 0, 8, 4, 0], [0, 9, 1, 0, 11, 1], [3, 4, 5, 6, 7, 8]], "int32")
REAL = np.array([[1] * 6, [1] * 5 + [0], [1] * 6, [1] * 6], bool)
BATCH = {"token_ids": IDS, "padding_mask": REAL, "weights": np.ones(4, "float32")}


class Words:
    sizes = {"vocabulary_size": NUM_WORDS}
    spellings = characters(NUM_WORDS)

    def sentences(self, texts):
        raise NotImplementedError


def build(**options):
    return BidirectionalLanguageModeling(model=Elmo(**SIZES), preprocessor=Words(), **options)


def array(tensor):
    return keras.ops.convert_to_numpy(tensor)


@pytest.mark.every_backend
def test_contract(tmp_path):
    check_task(build, BATCH, folder=tmp_path)


def test_each_word_is_predicted_from_one_side():
    task = build()
    before = {name: array(value) for name, value in task(BATCH).items()}
    changed = {**BATCH, "token_ids": IDS.copy()}
    changed["token_ids"][:, 3] = 10
    after = {name: array(value) for name, value in task(changed).items()}
    # Forward, what is told up to word 2 does not follow from word 3; backward, what is told from word 4 on.
    np.testing.assert_allclose(after["forward"][:, :2], before["forward"][:, :2], atol=1e-5)
    np.testing.assert_allclose(after["backward"][:, 4:], before["backward"][:, 4:], atol=1e-5)
    assert (np.abs(after["forward"] - before["forward"])[:, 2:].max(axis=0) > 1e-4).all()
    assert (np.abs(after["backward"] - before["backward"])[:, :4].max(axis=0) > 1e-4).all()


def test_marks_are_not_predicted():
    weights = {name: array(value) for name, value in build().loss_weights(BATCH).items()}
    assert weights["forward"].tolist()[:2] == [[1, 1, 1, 1, 0], [1, 0, 1, 1, 0]]
    assert weights["backward"].tolist()[:2] == [[1, 1, 1, 1, 0], [1, 0, 1, 1, 0]]
    assert weights["backward"].tolist()[2] == [1, 1, 0, 1, 1]


def test_perplexity_is_that_of_all_words_of_both_directions():
    task = build()
    outputs = task(BATCH)
    metrics = task.metrics_from({name: array(x) for name, x in task.statistics(outputs, BATCH).items()}, {})
    weights = task.loss_weights(BATCH)
    nats = [float((array(outputs[name]) * array(weights[name])).sum()) for name in ("forward", "backward")]
    words = [float(array(weights[name]).sum()) for name in ("forward", "backward")]
    assert math.isclose(metrics["forward_perplexity"], math.exp(nats[0] / words[0]), rel_tol=1e-5)
    assert math.isclose(metrics["perplexity"], math.exp(sum(nats) / sum(words)), rel_tol=1e-5)


def test_training_samples_words_and_evaluation_uses_all():
    task = build(samples=4)
    found = [array(task(BATCH, training=True)["forward"]) for _ in range(2)]
    assert np.abs(found[0] - found[1]).max() > 1e-4
    np.testing.assert_array_equal(array(task(BATCH)["forward"]), array(task(BATCH)["forward"]))
