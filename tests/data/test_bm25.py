"""BM25: equal to the formula, for words of any script."""

import math

import numpy as np
import pytest

from tfattn.data.bm25 import Bm25, words

DOCUMENTS = ["The red apple is red.", "A green pear", "the sky", "机械 noise"]


def formula(query, number):
    """The sum of Robertson and Zaragoza 2009 over the words of the query."""
    texts = [words(text) for text in DOCUMENTS]
    mean = sum(map(len, texts)) / len(texts)
    score = 0.0
    for word in words(query):
        having = sum(word in text for text in texts)
        rarity = math.log(1 + (len(texts) - having + 0.5) / (having + 0.5))
        times = texts[number].count(word)
        score += rarity * times * 2.2 / (times + 1.2 * (0.25 + 0.75 * len(texts[number]) / mean))
    return score


@pytest.mark.parametrize("query", ["red", "The RED sky, the sky", "a pear or an apple", "机", "nothing here", ""])
def test_scores_are_those_of_the_formula(query):
    np.testing.assert_allclose(Bm25(DOCUMENTS).scores(query), [formula(query, number) for number in range(4)])


def test_words_are_in_lower_case_and_chinese_characters_are_words():
    assert words("Ölspur, x-ray 3D 机械abc") == ["ölspur", "x", "ray", "3d", "机", "械", "abc"]


def test_rare_words_count_more_and_an_empty_index_has_no_scores():
    index = Bm25(["common rare", "common", "common", ""])
    assert index.scores("common rare").argmax() == 0 and index.scores("common")[3] == 0
    assert Bm25([]).scores("x").shape == (0,) and Bm25(["", ""]).scores("x").tolist() == [0, 0]
