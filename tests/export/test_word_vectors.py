"""Exported word vectors and their neighbors equal those in memory."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.contracts.servable_model import check_servable_model, signatures_of
from tfattn.export.saved_model import export
from tfattn.export.section import Export
from tfattn.export.word_vectors import WordLookup
from tfattn.models.word_vectors import SkipGram
from tfattn.preprocessing.corpus_words import CorpusWords
from tfattn.preprocessing.subwords import Subwords
from tfattn.tasks.word2vec import Word2Vec
from tfattn.trained.ensemble import TrainedEnsemble
from tfattn.vectors.opening import open_vectors
from tfattn.vectors.word_vectors import WordVectors

WORDS = ["the", "king", "queen", "man", "woman", "straße", "rain", "snow"]
COUNTS = range(len(WORDS), 0, -1)
ROWS = [{"word": "king"}, {"word": "the"}, {"word": "straße"}]


def trained(subwords=None):
    keras.utils.set_random_seed(4)
    reader = CorpusWords(min_count=1, subwords=subwords)
    reader.fit([{"text": " ".join(word for word, count in zip(WORDS, COUNTS, strict=True) for _ in range(count))}])
    model = SkipGram(**reader.sizes, hidden_dim=6)
    model.table.assign(np.random.default_rng(4).normal(size=model.table.shape))
    return TrainedEnsemble([(reader, Word2Vec(model=model, preprocessor=reader))])


@pytest.fixture(scope="module")
def ensemble():
    return trained()


@pytest.fixture(scope="module")
def served(ensemble):
    return WordLookup(ensemble)


@pytest.fixture(scope="module")
def vectors(ensemble):
    return WordVectors(WORDS, ensemble.task.word_vectors())


def asked(served, signature, **inputs):
    typed = {name: tf.constant(value, tf.int32 if name == "k" else tf.string) for name, value in inputs.items()}
    return {name: value.numpy() for name, value in signatures_of(served)[signature](**typed).items()}


def pairs(answer, row):
    return [(word.decode(), score) for word, score in zip(answer["word"][row], answer["score"][row], strict=True)]


def same(found, expected):
    assert [word for word, _ in found] == [word for word, _ in expected]
    np.testing.assert_allclose([score for _, score in found], [score for _, score in expected], atol=1e-5)


def test_contract(ensemble, tmp_path):
    expected = WordLookup(ensemble).ensemble.predict(ROWS)
    outputs = check_servable_model(WordLookup, ensemble, ROWS, folder=tmp_path, expected=expected)
    assert (tmp_path / "1/assets/vocabulary.tsv").is_file() and outputs["vector"].shape == (3, 6)


def test_words_are_normalized_before_lookup(served, vectors):
    answer = asked(served, "serving_default", word=["King", "STRASSE", "straße ", "elephant", ""])
    assert answer["known"].tolist() == [True, False, True, False, False]
    assert answer["count"].tolist() == [7, 0, 3, 0, 0]
    np.testing.assert_array_equal(answer["vector"][0], vectors.vector("king"))
    assert not answer["vector"][1].any()


def test_neighbors_equal_those_in_memory(served, vectors):
    answer = asked(served, "neighbors", word=["king", "snow"], k=3)
    for row, word in enumerate(("king", "snow")):
        same(pairs(answer, row), vectors.neighbors(word, k=3))
    everything = asked(served, "neighbors", word=["king"])  # ten by default, but there are not so many
    same(pairs(everything, 0), vectors.neighbors("king", k=7))


def test_analogies_equal_those_in_memory(served, vectors):
    sums = {"positive": [["king", "woman"], ["rain", ""]], "negative": [["", "man"], ["snow", ""]]}
    answer = asked(served, "analogy", **sums, k=2)
    same(pairs(answer, 0), vectors.analogy(["king", "woman"], ["man"], k=2))
    same(pairs(answer, 1), vectors.analogy(["rain"], ["snow"], k=2))


def test_no_words_have_no_neighbors(served):
    assert asked(served, "neighbors", word=[])["word"].shape[0] == 0
    assert asked(served, "serving_default", word=[])["vector"].shape == (0, 6)


@pytest.mark.parametrize(
    ("signature", "inputs", "message"),
    [
        ("neighbors", {"word": ["king", "quen"]}, "there is no vector of the word `quen` in row 2"),
        ("neighbors", {"word": ["king", ""]}, "row 2 has no word"),
        ("neighbors", {"word": ["king"], "k": 0}, "k: expected 1 to 1000, received 0"),
        ("neighbors", {"word": ["king"], "k": 1001}, "k: expected 1 to 1000, received 1001"),
        ("analogy", {"positive": [["king", "x"]], "negative": [["man"]]}, "no vector of the word `x` in row 1"),
        ("analogy", {"positive": [["king"], [""]], "negative": [["man"], [""]]}, "row 2 has no word"),
    ],
)
def test_invalid_queries_are_refused(served, signature, inputs, message):
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        asked(served, signature, **inputs)


def opened(served, folder):
    questions = served.questions([])
    expected, section = served.ensemble.predict(questions), Export(folder=str(folder), version="next")
    config = "data: {preprocessing: {name: corpus_words}}\nmodel: {name: skip_gram}\n"
    export(served, name="words", section=section, rows=questions, expected=expected, config=config)
    return open_vectors("words", folder)


def test_an_export_has_the_trained_vectors(served, vectors, tmp_path):
    assert [question["word"] for question in served.questions([])] == WORDS
    found = opened(served, tmp_path)
    assert list(found.words) == WORDS and found.counts.tolist() == [*COUNTS]
    np.testing.assert_array_equal(found.vectors, vectors.vectors)


@pytest.fixture(scope="module")
def with_subwords():
    return trained(Subwords(shortest=3, longest=4, buckets=30))


def test_an_unknown_word_has_the_vector_of_its_n_grams(with_subwords, tmp_path):
    expected = WordLookup(with_subwords).ensemble.predict(ROWS)
    check_servable_model(WordLookup, with_subwords, ROWS, folder=tmp_path, expected=expected)
    (reader,), model = with_subwords.preprocessors, with_subwords.task.model
    numbers = [number for number in reader.subword_ids(tf.constant(["kingly"])).numpy()[0] if number >= 0]
    answer = asked(WordLookup(with_subwords), "serving_default", word=["Kingly", "king", ""])
    assert answer["known"].tolist() == [False, True, False] and not answer["vector"][2].any()
    np.testing.assert_allclose(
        answer["vector"][0], np.array(model.table)[len(WORDS) :][numbers].mean(axis=0), atol=1e-6
    )
    np.testing.assert_allclose(answer["vector"][1], with_subwords.task.word_vectors()[1], atol=1e-6)


def test_an_unknown_word_has_neighbors_in_memory_and_in_the_export(with_subwords, tmp_path):
    served = WordLookup(with_subwords)
    read = opened(served, tmp_path)
    found = asked(served, "neighbors", word=["kingly"], k=5)
    same(pairs(found, 0), read.neighbors("Kingly", k=5))
    found = asked(served, "analogy", positive=[["kingly", "woman"]], negative=[["man"]], k=4)
    same(pairs(found, 0), read.analogy(["kingly", "woman"], ["man"], k=4))
    assert read.similarity("kingly", "king") == pytest.approx(dict(read.neighbors("kingly", k=8))["king"])
