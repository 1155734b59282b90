"""The report of language models: the baseline by hand."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfattn.evaluation.language_modeling import report
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


def test_the_baseline_is_a_guess_by_the_frequencies_of_training(preprocessor):
    metrics = found(preprocessor, 1.0).metrics
    size = 3 + len(preprocessor.tokens)  # each token counts once more
    expected = -(np.log(3 / size) + 3 * np.log(2 / size)) / 4
    assert metrics["num_tokens"] == 4
    np.testing.assert_allclose(metrics["baseline_loss"], expected)
    np.testing.assert_allclose(metrics["baseline_perplexity"], np.exp(expected))
    np.testing.assert_allclose(metrics["baseline_bits_per_byte"], expected / np.log(2))


def test_what_is_not_better_than_frequencies_is_warned_of(preprocessor):
    assert not found(preprocessor, 0.5).headline.warnings
    assert found(preprocessor, 5.0).headline.warnings


def test_it_shows_how_texts_go_on(preprocessor):
    (table,) = found(preprocessor, 1.0).sections[-1].parts
    ((row, text, _),) = table.rows
    assert (row, text) == ("a.txt:1", "aab")
