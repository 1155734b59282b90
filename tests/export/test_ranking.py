"""The export of ranking: scores of lists and of pairs, without padding."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.saved_model.loader_impl import parse_saved_model

from tests.contracts.servable_model import check_servable_model
from tfattn.export.ranking import Ranker
from tfattn.export.servable_row_model import example
from tfattn.models.bert import Bert
from tfattn.preprocessing.vocabulary import SPECIAL_TOKENS
from tfattn.preprocessing.wordpiece import WordPiece
from tfattn.serving.api.signature import Signature
from tfattn.serving.protocols.rest.openai.rerank import RerankFields
from tfattn.tasks.ranking import Ranking
from tfattn.trained.ensemble import TrainedEnsemble

WORDS = [*SPECIAL_TOKENS, "he", "she", "runs", "sits", "home", "down", "."]
ROWS = [
    {"query": "She sits.", "documents": ["down.", "home.", "she runs home"], "row": "x:1"},
    {"query": "", "documents": ["he", "runs runs"], "row": "x:2"},
    {"query": "he", "documents": ["ß", "[SEP]", "sits down", "she", "home"], "row": "x:3"},
]


def ensemble(folder, models=1):
    path = folder / "vocab.txt"
    path.write_text("".join(f"{word}\n" for word in WORDS))
    members = []
    for number in range(models):
        keras.utils.set_random_seed(number)
        reader = WordPiece(vocabulary=str(path), max_length=16, fields=("query", "documents"))
        reader.fit([])
        sizes = {"hidden_dim": 8, "num_layers": 1, "num_heads": 2, "intermediate_dim": 8, "max_sequence_length": 16}
        bert = Bert(vocabulary_size=len(WORDS), initializer_range=0.5, **sizes)
        task = Ranking(model=bert, targets={"highest": 1.0})
        task.head.kernel.assign(np.random.default_rng(number).normal(size=task.head.kernel.shape))
        members.append((reader, task))
    return TrainedEnsemble(members)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    return Ranker(ensemble(tmp_path_factory.mktemp("ranker")))


@pytest.fixture(scope="module")
def functions(served):
    return served.signatures()


@pytest.fixture(scope="module")
def pairs():
    return [(row["query"], text) for row in ROWS for text in row["documents"]]


def columns(pairs):
    return [tf.constant(column) for column in zip(*pairs, strict=True)]


def test_contract(tmp_path):
    (tmp_path / "export").mkdir()
    outputs = check_servable_model(Ranker, ensemble(tmp_path, 2), ROWS, folder=tmp_path / "export", litert=True)
    assert outputs["scores"].shape == (3, 5) and (outputs["scores"][1, 2:] == 0).all()
    (graph,) = parse_saved_model(str(tmp_path / "export/1")).meta_graphs
    messages = graph.signature_def.items()
    signatures = {name: Signature.of(name, message) for name, message in messages if not name.startswith("__")}
    assert RerankFields.find_signature(signatures).name == "score"  # for /v1/rerank


def test_pairs_have_the_scores_of_lists(served, functions, pairs):
    request = served.request(ROWS)
    lists = functions["serving_default"](*(tf.constant(request[name]) for name in served.inputs))["scores"].numpy()
    found = functions["score"](*columns(pairs))
    np.testing.assert_allclose(found["score"], lists[lists > 0], atol=1e-5)
    queries, documents = columns(pairs)
    sequences = served.preprocessors[0]({"query": queries, "documents": documents})["token_ids"]
    assert found["num_tokens"].numpy().tolist() == sequences.row_lengths().numpy().tolist()
    assert not found["truncated"].numpy().any()


def test_long_pairs_are_cut_and_the_batch_changes_no_score(functions, pairs):
    long = [("he", "sits down " * 5000), ("he " * 5000, "down")]
    found = functions["score"](*columns([*pairs, *long]))
    assert found["truncated"].numpy().tolist() == [False] * len(pairs) + [True, True]
    alone = [functions["score"](*columns([pair]))["score"].numpy()[0] for pair in pairs]
    np.testing.assert_allclose(found["score"][: len(pairs)], alone, atol=1e-5)


def test_an_empty_document_has_no_score_and_no_pairs_give_no_scores(functions):
    assert functions["score"](*columns([("he", "")]))["score"].numpy().tolist() == [0.0]
    assert all(len(x) == 0 for x in functions["score"](*[tf.constant([], tf.string)] * 2).values())


def test_serialized_pairs_have_equal_scores(functions, pairs):
    serialized = tf.constant([example({"query": query, "document": text}) for query, text in pairs])
    expected = functions["score"](*columns(pairs))["score"]
    np.testing.assert_allclose(functions["regress"](serialized)["outputs"], expected, atol=1e-6)


def test_wrong_scores_are_found(served):
    expected = {"scores": np.array([[0.5, 0.25], [0.5, 0.0]])}
    comparison = served.compare(expected, {"scores": [[0.5, 0.26], [0.5, 0.0]]}, tolerance=1e-3)
    assert comparison.wrong.tolist() == [True, False] and "0.26" in comparison.received(0)
    assert served.compare(expected, {"scores": [[np.nan, 0.25], [0.5, 0.0]]}, tolerance=1e-3).wrong[0]
