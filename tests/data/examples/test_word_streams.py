"""Streams of words: every word once, with its text, equal for equal seeds."""

import numpy as np
import pytest

from tfattn.data.examples.examples import Randomness
from tfattn.data.examples.targets import Target
from tfattn.data.examples.word_streams import WordStreams
from tfattn.errors import ConfigError
from tfattn.formats.source import Row
from tfattn.preprocessing.corpus_words import CorpusWords
from tfattn.preprocessing.whole_tokens import WordTokens

TEXTS = ["to be or not to be", "rare", "that is the question to be", "be that the question is not"]
ROWS = [Row({"text": text}, f"a.txt:{number}") for number, text in enumerate(TEXTS)]


@pytest.fixture(scope="module")
def words():
    words = CorpusWords(min_count=2)
    words.fit([row.fields for row in ROWS])
    return words


def made(words, *, is_training=True, seed=0, **options):
    streams = WordStreams(**options)
    streams.require(words)
    randomness = Randomness(np.arange(len(ROWS), dtype=np.uint64) + np.uint64(seed), is_training)
    return list(streams.of(ROWS, words, Target(), randomness))


def test_records_have_every_word_once_with_its_text(words):
    examples = made(words, length=5)
    ids = np.concatenate([values["input_ids"] for _, values in examples]).tolist()
    assert ids == np.concatenate(list(words.encode(TEXTS))).tolist()
    assert [len(values["input_ids"]) for _, values in examples] == [5, 5, 5, 2]
    texts = [(row + values["sequence_ids"] - 1).tolist() for row, values in examples]
    assert sum(texts, []) == [0] * 5 + [2] * 6 + [3] * 6  # of the second no word is left
    assert all(min(values["sequence_ids"]) == 1 and len(values["words_before"]) == 0 for _, values in examples)


def test_evaluation_records_are_sampled_once(words):
    options = {"is_training": False, "length": 5, "sample": 0.02}
    first, again, other = made(words, **options), made(words, **options), made(words, seed=5, **options)
    assert len(first) == 4 and all(0 < len(values["input_ids"]) <= 5 for _, values in first)
    for (_, one), (_, same) in zip(first, again, strict=True):
        assert {name: value.tolist() for name, value in one.items()} == {k: v.tolist() for k, v in same.items()}
        assert len(one["words_before"]) == len(one["words_after"]) == len(one["input_ids"]) == len(one["sequence_ids"])
        assert len(one["noise_ids"]) == -(-len(one["input_ids"]) // 2)
    assert [v["input_ids"].tolist() for _, v in first] != [v["input_ids"].tolist() for _, v in other]


def test_only_word_preprocessing_is_accepted():
    with pytest.raises(ConfigError, match="expected corpus_words, received WordTokens"):
        WordStreams().require(WordTokens())
