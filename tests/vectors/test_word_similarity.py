"""Similarity files in all formats, and correlations equal to SciPy and gensim."""

import math

import numpy as np
import pytest

from tfattn.errors import DataError
from tfattn.vectors import word_similarity
from tfattn.vectors.word_similarity import Pair
from tfattn.vectors.word_vectors import WordVectors

WORDS = [f"word{number}" for number in range(40)] + ["Word1"]
VECTORS = np.random.default_rng(5).normal(size=(len(WORDS), 8)).astype("float32")
PAIRS = [("tiger", "cat", 7.35), ("book", "paper", 7.46), ("stock", "egg", 1.81)]


@pytest.mark.parametrize(
    "content",
    [
        "tiger\tcat\t7.35\nbook\tpaper\t7.46\nstock\tegg\t1.81\n",
        "Word 1,Word 2,Human (mean)\ntiger,cat,7.35\nbook,paper,7.46\nstock,egg,1.81",
        "# made by hand\n#\ntiger cat 7.35\n\nbook  paper 7.46\nstock egg 1.81\n",
        "tiger; cat; 7.35\r\nbook; paper; 7.46\r\nstock; egg; 1.81\r\n",
        "word1\tword2\tPOS\tSimLex999\tconc\ntiger\tcat\tN\t7.35\t1\nbook\tpaper\tN\t7.46\t2\nstock\tegg\tN\t1.81\t3\n",
        "\ufefftiger\tcat\t7.35\t9\t1\nbook\tpaper\t7.46\nstock\tegg\t1.81\n",
    ],
)
def test_every_usual_form_is_read(tmp_path, content):
    (tmp_path / "pairs.txt").write_text(content, newline="")
    found = word_similarity.read_pairs(tmp_path / "pairs.txt")
    assert [(one, other) for one, other, _ in found] == [(one, other) for one, other, _ in PAIRS]
    np.testing.assert_allclose([score for *_, score in found], [score for *_, score in PAIRS], rtol=1e-6)


def test_known_ranks_give_known_correlations():
    vectors = WordVectors(["a", "b", "c", "d"], np.array([[1, 0], [1, 0.1], [1, 1], [0, 1]], "float32"))
    # Cosines with a fall from b to c to d: ranks 3 2 1; people rank them 2 3 1: 1 - 6 (1 + 1 + 0) / (3 (9 - 1)) = 0.5
    agreement = word_similarity.measure(vectors, [Pair("a", "b", 5), Pair("A", "c", 9), Pair("a", "D", 1)])
    assert agreement.spearman == pytest.approx(0.5) and agreement[2:] == (3, 3)


def test_it_agrees_with_gensim(tmp_path):
    keyed = pytest.importorskip("gensim.models", reason="needs gensim: the extra `test`").KeyedVectors(8)
    keyed.add_vectors(WORDS, VECTORS)
    draw = np.random.default_rng(6)
    lines = [f"{WORDS[draw.integers(41)]}\tWORD{draw.integers(44)}\t{draw.integers(100) / 10}" for _ in range(60)]
    (tmp_path / "pairs.tsv").write_text("\n".join(lines) + "\n")
    pearson, spearman, missing = keyed.evaluate_word_pairs(str(tmp_path / "pairs.tsv"))
    found = word_similarity.measure(WordVectors(WORDS, VECTORS), word_similarity.read_pairs(tmp_path / "pairs.tsv"))
    assert 0 < missing < 100 and found.pairs == 60 and 1 - found.covered / 60 == pytest.approx(missing / 100)
    assert found.pearson == pytest.approx(pearson[0], abs=1e-5)
    assert found.spearman == pytest.approx(spearman[0], abs=1e-5)


def test_undefined_correlations_are_nan():
    vectors = WordVectors(WORDS, VECTORS)
    for pairs in ([Pair("word1", "word2", 1.0)], [Pair("word1", "word2", 3.0)] * 4, [Pair("?", "!", 1.0)]):
        found = word_similarity.measure(vectors, pairs)
        assert math.isnan(found.spearman) and math.isnan(found.pearson) and found.pairs == len(pairs)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a b 1\na b c\n", "pairs.txt:2: the line is not a pair of words with its score: .* received 'a b c'"),
        (b"a\tb\t1\n\tb\t2\n", "pairs.txt:2: the line is not a pair"),
        (b"a,b\n", "pairs.txt: the file has no pairs of words"),
        (b"a b 1\n\xff b 1\n", r"pairs.txt, byte 6: the file is not UTF-8"),
    ],
)
def test_invalid_pairs_are_refused(tmp_path, content, message):
    (tmp_path / "pairs.txt").write_bytes(content)
    with pytest.raises(DataError, match=message):
        word_similarity.read_pairs(tmp_path / "pairs.txt")
    with pytest.raises(DataError, match="the file is missing"):
        word_similarity.read_pairs(tmp_path / "nowhere.txt")
