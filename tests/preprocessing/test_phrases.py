"""Phrases: words that are adjacent more often than by chance are joined, in several passes."""

import gzip

import numpy as np
import pytest

from tfattn.errors import ConfigError, DataError
from tfattn.preprocessing import phrase_joins
from tfattn.preprocessing.corpus_words import CorpusWords
from tfattn.preprocessing.phrase_joins import PairCounts, unpack_pairs
from tfattn.preprocessing.phrases import Phrases

# "new york" stands in 6 texts of 4 words, in 3 of which "city" follows; "a" to "f" are other words.
CITY = ["a new york city", "new york city b", "c new york city", "new york d e", "f new york a", "b c new york"]


def fitted(texts=CITY, **phrases):
    preprocessor = CorpusWords(min_count=1, phrases=Phrases(**phrases))
    preprocessor.fit({"text": text} for text in texts)
    return preprocessor


def found(preprocessor):
    return {one.word: (one.number, one.count, one.score) for one in preprocessor.found_phrases}


def test_the_ratio_is_equation_6_times_the_number_of_words():
    """(6 - 1) / (6 * 6) * 24 = 3.333; york city: (3 - 1) / (6 * 3) * 24 = 2.667; new_york is one of 18 words then."""
    preprocessor = fitted(thresholds=[2.6, 1.9], min_count=1)
    assert found(preprocessor) == {
        "new_york": (1, 6, 3.3333),
        "york_city": (1, 3, 2.6667),  # of the same pass, but "york" is a part of new_york by then
        "new_york_city": (2, 3, 2.0),  # (3 - 1) / (6 * 3) * 18
    }
    assert preprocessor.words == ("new_york", "new_york_city", *"abcdef")
    assert preprocessor.counts.tolist() == [3, 3, 2, 2, 2, 1, 1, 1]


def test_the_mutual_information_is_normalized():
    """log(24 * 6 / 36) / log(24 / 6) = 1, and of york city log(24 * 3 / 18) / log(24 / 3) = 2 / 3."""
    scores = Phrases(thresholds=[0.5], score="npmi", min_count=3).scores(
        *(np.array(counts) for counts in ([6, 3, 2], [6, 6, 2], [6, 3, 2])), total=24
    )
    np.testing.assert_allclose(scores, [1.0, 2 / 3, -1.0])
    assert found(fitted(thresholds=[0.9], score="npmi", min_count=3)) == {"new_york": (1, 6, 1.0)}


def test_words_are_joined_from_left_to_right_and_not_across_texts_or_dropped_words():
    preprocessor = fitted(["x x"] * 9 + ["y"] * 90, thresholds=[1], min_count=1)
    words = np.array(preprocessor.words)
    assert set(words) == {"x_x", "y"}
    texts = ["x x x x", "x", "x X x", "x unknown x y x x", "x"]
    found = [" ".join(words[ids]) for ids in preprocessor.encode(texts)]
    assert found == ["x_x x_x", "", "x_x", "y x_x", ""]


def test_phrases_are_normalized_for_lookup():
    preprocessor = fitted(thresholds=[2, 1.9], min_count=1)
    ids = preprocessor.lookup(["New York city", "new_york_city", "NEW  YORK", "york"]).numpy()
    assert ids.tolist() == [preprocessor.words.index(word) for word in ("new_york_city",) * 2 + ("new_york",)] + [-1]


def test_rare_words_are_in_no_phrase_and_phrases_are_counted_as_words():
    preprocessor = CorpusWords(min_count=3, phrases=Phrases(thresholds=[2], min_count=1))
    preprocessor.fit({"text": text} for text in CITY)
    assert preprocessor.words == ("new_york", "city")


def test_saved_phrases_are_joined_again(tmp_path):
    preprocessor = fitted(thresholds=[2, 1.9], min_count=1)
    preprocessor.save(tmp_path)
    assert (tmp_path / "phrases.tsv").read_text().splitlines()[0] == "1\tnew\tyork\t6\t3.3333"
    loaded = CorpusWords()
    loaded.load(tmp_path)
    text = "new york city, new york in A"
    ((expected,), (received,)) = (one.encode([text]) for one in (preprocessor, loaded))
    assert received.tolist() == expected.tolist() and len(received) == 3
    (tmp_path / "phrases.tsv").write_text("1\tnew\tyork\tsix\t3.3\n")
    with pytest.raises(DataError, match="phrases.tsv:1: the file is damaged: expected a pass, two words, their count"):
        CorpusWords().load(tmp_path)


def test_pairs_are_counted_across_buffers_and_the_rarest_are_pruned(monkeypatch):
    monkeypatch.setattr(phrase_joins, "_BUFFER_SIZE", 4)
    generator = np.random.default_rng(7)
    streams = [generator.integers(-2, 4, 50, np.int32) for _ in range(5)]
    counts, few = PairCounts(), PairCounts(max_pairs=5)
    expected = np.zeros((4, 4), int)
    for stream in streams:
        counts.add(stream)
        few.add(stream)
        for first, second in zip(stream, stream[1:], strict=False):
            if first >= 0 and second >= 0:
                expected[first, second] += 1
    keys, received = counts.result()
    np.testing.assert_array_equal(received, expected[unpack_pairs(keys)])
    assert received.sum() == expected.sum()
    kept, fewer = few.result()
    assert len(kept) <= 5 and (fewer <= expected[unpack_pairs(kept)]).all()


def test_a_threshold_that_no_pair_exceeds_is_refused():
    with pytest.raises(ConfigError, match="no pair of words can exceed this threshold: expected numbers below 1"):
        Phrases(thresholds=[10, 5], score="npmi")


@pytest.mark.parametrize("score", ["ratio", "npmi"])
def test_the_same_phrases_are_found_as_by_gensim(score, shared):
    gensim = pytest.importorskip("gensim.models.phrases", reason="gensim is one of the peers")
    with gzip.open(shared / "word2vec/inaugural.txt.gz", "rt", encoding="utf-8") as file:
        texts = [line.lower() for line in file]
    preprocessor = CorpusWords(
        ascii=True, min_count=1, phrases=Phrases(thresholds=[20 if score == "ratio" else 0.4], score=score)
    )
    preprocessor.fit({"text": text} for text in texts)
    divided = [preprocessor.segment(text) for text in texts]
    if score == "npmi":
        model = gensim.Phrases(divided, min_count=5, threshold=0.4, scoring="npmi")
    else:  # which multiplies by another number
        model = gensim.Phrases(divided, min_count=5, threshold=1, scoring="default")
        model.threshold = 20 * len(model.vocab) / model.corpus_word_count
    assert found(preprocessor).keys() == model.export_phrases().keys()
    assert len(found(preprocessor)) > 100
    words = np.array(preprocessor.words)
    for text, expected in zip(preprocessor.encode(texts), model[divided], strict=True):
        assert words[text].tolist() == expected
