"""The export of multiple choice: any number of choices, without empty choices."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.contracts.servable_model import check_servable_model
from tfattn.export.multiple_choice import ChoicePicker
from tfattn.export.servable_row_model import example
from tfattn.models.bert import Bert
from tfattn.preprocessing.vocabulary import SPECIAL_TOKENS
from tfattn.preprocessing.wordpiece import WordPiece
from tfattn.tasks.multiple_choice import MultipleChoice
from tfattn.trained.ensemble import TrainedEnsemble

WORDS = [*SPECIAL_TOKENS, "he", "she", "runs", "sits", "home", "down", "."]
ROWS = [
    {"context": "She sits.", "choices": ["down.", "home.", "she runs home"], "row": "x:1"},
    {"context": "", "choices": ["he", "runs runs"], "row": "x:2"},
    {"context": "he", "choices": ["ß", "[SEP]", "sits down", "she", "home"], "row": "x:3"},
]


def ensemble(folder, models=1):
    path = folder / "vocab.txt"
    path.write_text("".join(f"{word}\n" for word in WORDS))
    members = []
    for number in range(models):
        keras.utils.set_random_seed(number)
        reader = WordPiece(vocabulary=str(path), max_length=16, fields=("context", "choices"))
        reader.fit([])
        bert = Bert(
            vocabulary_size=len(WORDS),
            hidden_dim=8,
            num_layers=1,
            num_heads=2,
            intermediate_dim=8,
            max_sequence_length=16,
            initializer_range=0.5,
        )
        task = MultipleChoice(model=bert)
        task.head.kernel.assign(np.random.default_rng(number).normal(size=task.head.kernel.shape))
        members.append((reader, task))
    return TrainedEnsemble(members)


@pytest.fixture(scope="module")
def answer(tmp_path_factory):
    functions = ChoicePicker(ensemble(tmp_path_factory.mktemp("choices"))).signatures()

    def answer(context, *choices, signature="serving_default"):
        found = functions[signature](tf.constant([context]), tf.constant([choices], tf.string))
        return {name: value.numpy()[0] for name, value in found.items()}

    answer.functions = functions
    return answer


@pytest.mark.parametrize("models", [1, 2])
def test_contract(tmp_path, models):
    (tmp_path / "export").mkdir()
    outputs = check_servable_model(
        ChoicePicker, ensemble(tmp_path, models), ROWS, folder=tmp_path / "export", litert=models == 2
    )
    for row, choice, label_id in zip(ROWS, outputs["choice"], outputs["label_id"], strict=True):
        assert choice.decode() == row["choices"][label_id]
    assert outputs["scores"].shape == (3, 5) and (outputs["scores"][1, 2:] == 0).all()


def test_an_empty_text_at_any_index_is_not_a_choice(answer):
    few, more = answer("he", "sits", "runs"), answer("he", "", "sits", "", "runs")
    np.testing.assert_allclose(more["scores"], [0, few["scores"][0], 0, few["scores"][1]], atol=1e-6)
    assert more["choice"] == few["choice"] and more["label_id"] == 2 * few["label_id"] + 1


def test_server_padding_is_not_a_choice(answer):
    few, padded = answer("he", "sits", "runs"), answer("he", "sits", "runs", "sits", "sits")
    np.testing.assert_allclose(padded["scores"], [*few["scores"], 0, 0], atol=1e-6)


@pytest.mark.parametrize("choices", [(), ("",), ("", "")])
def test_a_row_without_a_choice_is_refused(answer, choices):
    with pytest.raises(tf.errors.InvalidArgumentError, match="a row has no choice"):
        answer("he", *choices)


def test_a_long_context_is_cut_and_choices_are_kept(answer):
    found = answer("he " * 5000, "sits down", "she runs")
    assert found["truncated"] and found["scores"][0] != found["scores"][1]
    assert not answer("he", "sits down", "she runs")["truncated"]


def test_serialized_examples_have_equal_predictions(answer):
    rows = [{name: row[name] for name in ("context", "choices")} for row in ROWS]
    found = answer.functions["classify"](tf.constant([example(row) for row in rows]))
    assert found["classes"].numpy()[1].tolist() == [b"he", b"runs runs", b"", b"", b""]
    for index, row in enumerate(rows):
        alone = answer(row["context"], *row["choices"])["scores"]
        np.testing.assert_allclose(found["scores"][index][: len(alone)], alone, atol=1e-5)


def test_tokens_and_texts_have_equal_predictions(tmp_path):
    served = ChoicePicker(ensemble(tmp_path))
    request = served.request(ROWS)
    functions = served.signatures()
    of_texts = functions["serving_default"](*(tf.constant(request[name]) for name in served.inputs))
    tokens = served.input_side.tokens(request)
    # As a server pads a row that it batches with longer ones: with the first element of each input.
    padded = {
        name: tf.pad(values, [[0, 0], [0, 2], [0, 3]], constant_values=int(values[0, 0, 0]))
        for name, values in tokens.items()
    }
    found = functions["tokens"](*padded.values())
    np.testing.assert_allclose(found["scores"][:, :5], of_texts["scores"], atol=1e-5)
    assert not np.any(found["scores"][:, 5:])
