"""Questions hide words of rows, and only such as are read."""

import keras
import pytest

from tfattn.models.bert import Bert
from tfattn.preprocessing.wordpiece import WordPiece
from tfattn.tasks.masked_lm import MaskedLm
from tfattn.trained.ensemble import TrainedEnsemble
from tfattn.trained.masked_texts import Question, questions, reading_masks

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "man", "went", "天", "气"]


@pytest.fixture(scope="module")
def reading(tmp_path_factory):
    path = tmp_path_factory.mktemp("vocabulary") / "vocab.txt"
    path.write_text("".join(f"{word}\n" for word in WORDS))
    wordpiece = WordPiece(vocabulary=str(path), max_length=8)
    wordpiece.fit([])
    sizes = {"hidden_dim": 8, "num_layers": 1, "num_heads": 2, "intermediate_dim": 16}
    keras.utils.set_random_seed(1)
    task = MaskedLm(model=Bert(vocabulary_size=len(WORDS), max_sequence_length=8, **sizes))
    return reading_masks(TrainedEnsemble([(wordpiece, task)]))


def rows(*texts):
    return [{"text": text, "row": f"a.txt:{line}"} for line, text in enumerate(texts, start=1)]


def test_words_of_the_longest_line_are_hidden(reading):
    (one,) = questions(reading, rows("title\nthe man went\n"), most=5)
    assert one == Question("the [MASK] went", ("man",), "a.txt:1")
    (one,) = questions(reading, rows("the man went"), most=5, masks=2)
    assert one == Question("the [MASK] [MASK]", ("man", "went"), "a.txt:1")


def test_characters_are_hidden_where_there_are_no_spaces(reading):
    (one,) = questions(reading, rows("天气"), most=5)
    assert (one.text, one.hidden) == ("天[MASK]", ("气",))


def test_what_would_not_be_read_is_not_asked(reading):
    long, short = "the " * 20, "the man"
    assert [one.row for one in questions(reading, rows(long, short, ""), most=5)] == ["a.txt:2"]
    assert questions(reading, rows(long), most=5) == [Question("[MASK]", (), "")]


def test_rows_are_taken_evenly(reading):
    asked = questions(reading, rows(*["the man"] * 9), most=3)
    assert [one.row for one in asked] == ["a.txt:1", "a.txt:5", "a.txt:9"]


def test_they_are_answered(reading):
    predicted = reading.predict([{"text": "the [MASK]"}, {"text": "[MASK] man [MASK]"}])
    assert predicted["token_ids"].shape == predicted["scores"].shape == (2, 2, 10)
