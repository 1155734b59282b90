"""Masked questions: words of rows that the model reads completely."""

import keras
import pytest

from tfattn.models.bert import Bert
from tfattn.preprocessing.wordpiece import WordPiece
from tfattn.tasks.masked_lm import MaskedLm
from tfattn.trained.ensemble import TrainedEnsemble
from tfattn.trained.masked_questions import MaskedQuestion, sample_questions, with_mask_tokens

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "man", "went", "天", "气"]


@pytest.fixture(scope="module")
def ensemble(tmp_path_factory):
    path = tmp_path_factory.mktemp("vocabulary") / "vocab.txt"
    path.write_text("".join(f"{word}\n" for word in WORDS))
    wordpiece = WordPiece(vocabulary=str(path), max_length=8)
    wordpiece.fit([])
    sizes = {"hidden_dim": 8, "num_layers": 1, "num_heads": 2, "intermediate_dim": 16}
    keras.utils.set_random_seed(1)
    task = MaskedLm(model=Bert(vocabulary_size=len(WORDS), max_sequence_length=8, **sizes))
    return with_mask_tokens(TrainedEnsemble([(wordpiece, task)]))


def rows(*texts):
    return [{"text": text, "row": f"a.txt:{line}"} for line, text in enumerate(texts, start=1)]


def test_words_of_the_longest_line_are_masked(ensemble):
    (question,) = sample_questions(ensemble, rows("title\nthe man went\n"), limit=5)
    assert question == MaskedQuestion("the [MASK] went", ("man",), "a.txt:1")
    (question,) = sample_questions(ensemble, rows("the man went"), limit=5, masks=2)
    assert question == MaskedQuestion("the [MASK] [MASK]", ("man", "went"), "a.txt:1")


def test_characters_are_masked_in_texts_without_spaces(ensemble):
    (question,) = sample_questions(ensemble, rows("天气"), limit=5)
    assert (question.text, question.hidden) == ("天[MASK]", ("气",))


def test_truncated_questions_are_dropped(ensemble):
    long, short = "the " * 20, "the man"
    assert [question.row for question in sample_questions(ensemble, rows(long, short, ""), limit=5)] == ["a.txt:2"]
    assert sample_questions(ensemble, rows(long), limit=5) == [MaskedQuestion("[MASK]", (), "")]


def test_rows_are_evenly_spaced(ensemble):
    questions = sample_questions(ensemble, rows(*["the man"] * 9), limit=3)
    assert [question.row for question in questions] == ["a.txt:1", "a.txt:5", "a.txt:9"]


def test_each_mask_has_predictions(ensemble):
    predicted = ensemble.predict([{"text": "the [MASK]"}, {"text": "[MASK] man [MASK]"}])
    assert predicted["token_ids"].shape == predicted["scores"].shape == (2, 2, 10)
