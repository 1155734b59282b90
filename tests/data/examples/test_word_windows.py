"""Windows of words: every word is predicted once in each direction."""

import numpy as np
import pytest

from tfattn.data.examples.examples import Randomness
from tfattn.data.examples.targets import Target
from tfattn.data.examples.word_windows import WordWindows
from tfattn.errors import ConfigError
from tfattn.formats.source import Row
from tfattn.preprocessing.spelled_words import SpelledWords
from tfattn.preprocessing.whole_tokens import WordTokens

TEXTS = ["to be or not to be", "", "that is", "the question"]


@pytest.fixture(scope="module")
def words():
    words = SpelledWords()
    words.fit([{"text": text} for text in TEXTS])
    return words


def windows(words, *, training=True, **options):
    rows = [Row({"text": text}, f"texts:{number}") for number, text in enumerate(TEXTS)]
    randomness = Randomness(np.arange(len(rows), dtype=np.uint64), training)
    examples = WordWindows(**options)
    return [(one.row, one.values["input_ids"].tolist()) for one in examples.of(rows, words, Target(), randomness)]


@pytest.mark.parametrize("length", [3, 5, 100])
def test_each_direction_predicts_every_word_once(words, length):
    stream = np.concatenate(list(words.sentences(TEXTS))).tolist()
    found = [ids for _, ids in windows(words, length=length)]
    assert sum((ids[1:] for ids in found), found[0][:1]) == stream
    assert sum((ids[:-1] for ids in found), []) + found[-1][-1:] == stream
    assert all(len(ids) == length + 1 for ids in found[:-1])


def test_texts_are_between_start_and_end_marks(words):
    (row, ids), *_ = windows(words, length=100)
    names = [words.tokens[number] for number in ids]
    assert row == 0 and " ".join(names[:12]) == "<S> to be or not to be </S> <S> </S> <S> that"


def test_shifted_training_records_are_longer(words):
    assert len(windows(words, length=4, shift=True)[0][1]) == 8
    assert len(windows(words, length=4, shift=True, training=False)[0][1]) == 5


def test_preprocessing_without_characters_is_refused():
    with pytest.raises(ConfigError) as caught:
        WordWindows().require(WordTokens())
    assert (caught.value.key, caught.value.expected) == ("preprocessing", "spelled_words")
