"""The report of language models: the baseline, computed by hand."""

import math

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfattn.evaluation.language_modeling import count_tokens, report, unigram_loss
from tfattn.models.gpt import Gpt
from tfattn.preprocessing.whole_tokens import CharacterTokens
from tfattn.tasks.language_modeling import LanguageModeling
from tfattn.trained.ensemble import TrainedEnsemble
from tfattn.trained.predictions import SplitPredictions

ROWS = [{"text": "aab", "row": "a.txt:1"}]


class Windows:
    """The records of a split: one window."""

    def __init__(self, *token_ids):
        self.token_ids = np.array([token_ids], "int32")

    def dataset(self, epoch):
        batch = {"token_ids": self.token_ids, "padding_mask": np.ones_like(self.token_ids, bool)}
        return tf.data.Dataset.from_tensors(batch)


@pytest.fixture(scope="module")
def preprocessor():
    preprocessor = CharacterTokens(max_length=16)
    preprocessor.fit([{"text": "aab"}])
    return preprocessor


def found(preprocessor, loss):
    keras.utils.set_random_seed(1)
    sizes = {"hidden_dim": 8, "num_layers": 1, "num_heads": 2, "intermediate_dim": 16, "max_sequence_length": 16}
    model = Gpt(vocabulary_size=len(preprocessor.tokens), **sizes)
    ensemble = TrainedEnsemble([(preprocessor, LanguageModeling(model=model, preprocessor=preprocessor))])
    a, b = (preprocessor.tokens.index(letter) for letter in "ab")
    readers = {"train": Windows(b, a, a, b), "validation": Windows(a, a, b, b, b)}
    metrics = {"loss": loss, "perplexity": np.exp(loss), "word_perplexity": 9.0, "bits_per_byte": loss / np.log(2)}
    leaked = np.zeros(1, bool)
    return report(
        ensemble,
        SplitPredictions("validation", ROWS, {}, {}, 2.0, leaked, metrics=metrics, reader=readers.__getitem__),
    )


def test_the_baseline_uses_training_frequencies(preprocessor):
    metrics = found(preprocessor, 1.0).metrics
    size = 3 + len(preprocessor.tokens)  # each token counts once more
    expected = -(np.log(3 / size) + 3 * np.log(2 / size)) / 4
    assert metrics["num_tokens"] == 4
    np.testing.assert_allclose(metrics["baseline_loss"], expected)
    np.testing.assert_allclose(metrics["baseline_perplexity"], np.exp(expected))
    np.testing.assert_allclose(metrics["baseline_bits_per_byte"], expected / np.log(2))


def test_a_model_no_better_than_frequencies_has_a_warning(preprocessor):
    assert not found(preprocessor, 0.5).headline.warnings
    assert found(preprocessor, 5.0).headline.warnings


def test_the_report_shows_continuations(preprocessor):
    (table,) = found(preprocessor, 1.0).sections[-1].parts
    ((row, text, _),) = table.rows
    assert (row, text) == ("a.txt:1", "aab")


class Records:
    """Records in place of a reader's."""

    def dataset(self, epoch):
        ids, weights = [[0, 2, 2], [1, 2, 0], [3, 3, 3]], [[1, 1, 1], [0, 1, 0], [0, 0, 1]]
        return tf.data.Dataset.from_tensor_slices({"ids": ids, "weights": weights}).batch(2)


def test_predicted_tokens_are_counted_by_batch():
    told = count_tokens(Records(), lambda batch: batch["ids"].numpy()[batch["weights"].numpy() > 0], 5)
    assert told.tolist() == [1, 0, 3, 1, 0]


def test_the_unigram_loss_uses_training_frequencies():
    """Of four tokens with 3, 1, 0, 0 each gets one more: 4/8, 2/8, 1/8 and 1/8."""
    measured = np.array([2, 1, 0, 1])
    expected = 2 * math.log(2) + math.log(4) + math.log(8)
    assert unigram_loss(np.array([3, 1, 0, 0]), measured) == pytest.approx(expected)
    assert unigram_loss(np.zeros(4), measured) == pytest.approx(4 * math.log(4)), "of nothing all are alike"
