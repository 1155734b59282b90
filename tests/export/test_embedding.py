"""The export of text embeddings: a vector for each text, as in training."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.contracts.servable_model import check_servable_model
from tfattn.data.examples.encoding import lengths_of, serialized
from tfattn.data.examples.examples import Randomness
from tfattn.data.examples.parsing import parse
from tfattn.data.examples.similarity_targets import Similarities
from tfattn.data.examples.text_groups import TextGroups
from tfattn.export.embedding import Embedder
from tfattn.formats.source import Row
from tfattn.tasks.embedding import Embedding
from tfattn.trained.ensemble import TrainedEnsemble

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "query", ":", "coolant", "pooling", "sorter", "blows", "fuses", "noise"]
ROWS = [
    {"anchor": "coolant noise", "positive": "the sorter blows fuses", "row": "a.csv:2"},
    {"anchor": "noise", "positive": "pooling of coolant", "row": "a.csv:3"},
    {"anchor": "sorter", "positive": "sorter pooling", "row": "a.csv:4"},
]
EXAMPLES = TextGroups(prompts={"anchor": "query: "})


@pytest.fixture
def ensemble(small_bert, wordpiece):
    task = Embedding(
        model=small_bert(WORDS, seed=3),
        targets={"scored": False},
        examples=EXAMPLES.facts,
        dimensions=[6, 2],
    )
    return TrainedEnsemble([(wordpiece(WORDS), task)])


def predicted(ensemble):
    """The predictions of the records of the rows."""
    rows, targets, preprocessor = [Row(row, row["row"]) for row in ROWS], Similarities(), ensemble.preprocessor
    features = EXAMPLES.features(rows[0], preprocessor, targets)
    randomness = Randomness(np.zeros(0, np.uint64), is_training=False)
    made = [values for _, values in EXAMPLES.of(rows, preprocessor, targets, randomness)]
    batch = parse(tf.constant(serialized(made, features)), features, tf.constant(lengths_of(made, features)))
    return {name: value.numpy() for name, value in ensemble.task.predictions(ensemble.task(batch)).items()}


def test_contract(ensemble, tmp_path):
    expected = predicted(ensemble)
    assert expected["embedding"].shape == (3, 2, 6)
    outputs = check_servable_model(Embedder, ensemble, ROWS, folder=tmp_path, expected=expected, litert=True)
    assert set(outputs) == {"embedding", "num_tokens", "truncated"} and outputs["embedding"].dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(outputs["embedding"], axis=1), 1, rtol=1e-5)


def test_the_requests_have_all_columns_with_their_prompts(ensemble):
    keras.utils.set_random_seed(1)
    assert Embedder(ensemble).request(ROWS) == {"text": ["query: coolant noise", "pooling of coolant", "query: sorter"]}


def test_the_card_describes_the_vectors(ensemble):
    metadata = Embedder(ensemble).metadata()
    assert metadata["task"] == "embedding" and metadata["dimensions"] == 6 and metadata["normalized"] is True
    assert metadata["prompts"] == {"anchor": "query: ", "positive": ""}
    assert metadata["matryoshka_dimensions"] == [6, 2]
