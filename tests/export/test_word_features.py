"""The export of an ELMo returns the trained vectors of each word, independent of the batch."""

import keras
import pytest

from tests.contracts.servable_model import check_servable_model
from tests.models.test_elmo import SIZES
from tfattn.export.word_features import WordFeatures
from tfattn.models.elmo import Elmo
from tfattn.preprocessing.spelled_words import SpelledWords
from tfattn.tasks.bidirectional_language_modeling import BidirectionalLanguageModeling
from tfattn.trained.ensemble import TrainedEnsemble

ROWS = [{"text": "The mixer rattles."}, {"text": "Unheard-of Gerät"}, {"text": ""}, {"text": "a b c d e f g h i j"}]


@pytest.fixture(scope="module")
def ensemble():
    keras.utils.set_random_seed(4)
    words = SpelledWords(max_length=8)
    words.fit(ROWS)
    task = BidirectionalLanguageModeling(model=Elmo(**SIZES), preprocessor=words)
    return TrainedEnsemble([(words, task)])


def test_contract(ensemble, tmp_path):
    served = WordFeatures(ensemble)
    outputs = check_servable_model(
        WordFeatures, ensemble, ROWS, folder=tmp_path, expected=served.ensemble.predict(ROWS)
    )
    assert outputs["vectors"].shape == (4, 6, 3, SIZES["hidden_dim"])
    assert outputs["length"].tolist() == [4, 4, 0, 6] and outputs["truncated"].tolist() == [False, False, False, True]
    assert [word.decode() for word in outputs["words"][1]] == ["Unheard", "-", "of", "Gerät", "", ""]


def test_only_the_model_is_exported(ensemble):
    assert all(name.startswith("elmo/") for name in WordFeatures(ensemble).weight_names)


def test_questions_are_rows(ensemble):
    assert WordFeatures(ensemble).questions(ROWS) == ROWS
