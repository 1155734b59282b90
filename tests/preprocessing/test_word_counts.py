"""Counts of words: exact, and with pruning exact for frequent words."""

import gzip

import numpy as np
import pytest

from tfattn.preprocessing.corpus import count, count_with_phrases
from tfattn.preprocessing.phrases import Phrases
from tfattn.preprocessing.word_characters import Rules
from tfattn.preprocessing.word_counts import NumberedWords, WordCounts, most_frequent
from tfattn.preprocessing.word_segmentation import WordSegmenter

# Ten thousand words, by Zipf's law some of them often and most of them seldom, in texts of a hundred.
WORDS = [f"w{number}" for number in np.random.default_rng(7).zipf(1.3, 10_000) if number < 1 << 40]
TEXTS = [WORDS[begin : begin + 100] for begin in range(0, len(WORDS), 100)]


def test_all_words_are_counted_and_listed_by_frequency_and_then_by_the_word():
    counted = WordCounts()
    for text in TEXTS:
        counted.add([text[:30], text[30:]])
    assert counted.total == len(WORDS) == counted.counts.total()
    listed = most_frequent(counted.counts, min_count=2, size=50, without=frozenset({"w2"}))
    assert listed == sorted(listed, key=lambda one: (-one[1], one[0])) and len(listed) == 50
    assert all(number == WORDS.count(word) for word, number in listed) and "w2" not in dict(listed)


@pytest.mark.parametrize("kind", [WordCounts, NumberedWords])
def test_rare_words_are_pruned_and_frequent_words_are_not(kind):
    counted, exact = kind(max_words=300), WordCounts()
    for text in TEXTS:
        counted.add([text])
        exact.add([text])
        assert len(counted.counts) <= 300
    assert len(exact.counts) > 1000 and counted.total == exact.total
    assert all(number <= exact.counts[word] for word, number in counted.counts.items())
    frequent = most_frequent(exact.counts, min_count=60)
    assert len(frequent) > 10 and all(counted.counts[word] == number for word, number in frequent)


def test_a_pruned_word_gets_a_new_id():
    counted = NumberedWords(max_words=3)
    found = [counted.add_and_number([text]).tolist() for text in (["a", "b", "a"], ["c", "d"], ["b", "a", "e"])]
    assert found == [[0, 1, 0], [2, 3], [4, 0, 5]]  # b, c and d occurred once
    assert counted.index_map(["a"], others=-1).tolist()[:1] == [0]
    assert set(counted.index_map(["a"], others=-1).tolist()[1:]) == {-1}


def test_phrases_and_words_are_counted_together():
    texts = [" ".join(text) for text in TEXTS]
    plain = count(iter(texts), str.split)
    none = Phrases(thresholds=[1e9])
    found = count_with_phrases(iter(texts), str.split, none, min_count=3, without=frozenset())
    assert found.phrases == [] and found.total == plain.total
    assert found.counts == {word: number for word, number in plain.counts.items() if number >= 3}


def test_word_counts_of_nine_corpora_equal_independent_counts(shared):
    """7,169,873 words of a to z, 113,781 different ones, of which 38,717 occur five times or more."""
    paths = sorted((shared / "word2vec").glob("*.txt.gz"))
    texts = (line for path in paths for line in gzip.decompress(path.read_bytes()).decode().splitlines())
    letters = Rules(only_letters=True, lower_case=True, ascii=True)
    found = count(texts, WordSegmenter("letters", letters, None))
    assert (found.total, len(found.counts)) == (7_169_873, 113_781)
    assert len(most_frequent(found.counts, min_count=5)) == 38_717
