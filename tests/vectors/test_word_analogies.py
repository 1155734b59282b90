"""Accuracy on analogies equals word2vec and gensim."""

import numpy as np
import pytest

from tfattn.errors import DataError
from tfattn.vectors import word_analogies
from tfattn.vectors.word_analogies import SectionAccuracy
from tfattn.vectors.word_vectors import WordVectors

DRAW = np.random.default_rng(8)
COUNTRIES = [f"Country{number}" for number in range(12)]
CAPITALS = [f"Capital{number}" for number in range(12)]
PLACES = DRAW.normal(size=(12, 6))
# A capital lies beside its country, always in about the same direction.
VECTORS = np.concatenate([PLACES, PLACES + DRAW.normal(size=6) + 0.4 * DRAW.normal(size=(12, 6))]).astype("float32")
WORDS = [*COUNTRIES, *CAPITALS]


@pytest.fixture
def questions(tmp_path):
    lines = [": capitals"]
    lines += [f"Country{a} capital{a} COUNTRY{b} Capital{b}" for a in range(12) for b in range(12) if a != b]
    lines += [": gram-of none", "country0 capital0 nowhere capital1", "Capital0 Country0 Capital1 Country1"]
    path = tmp_path / "questions-words.txt"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("most_frequent", [None, 24, 20, 15])
@pytest.mark.parametrize("scores", [2**24, 40])
def test_it_agrees_with_gensim(questions, most_frequent, scores, monkeypatch):
    monkeypatch.setattr(word_analogies, "SCORES", scores)
    keyed = pytest.importorskip("gensim.models", reason="needs gensim: the extra `test`").KeyedVectors(6)
    words, vectors = [*WORDS, "capital3"], np.concatenate([VECTORS, VECTORS[15:16] + 0.1])
    keyed.add_vectors(words, vectors)
    _, sections = keyed.evaluate_word_analogies(str(questions), restrict_vocab=most_frequent or len(words))
    found = word_analogies.measure(
        WordVectors(words, vectors), word_analogies.read_sections(questions), most_frequent=most_frequent
    )
    assert list(found) == ["capitals", "gram-of none"]
    for section, (name, answered) in zip(sections, found.items(), strict=False):
        assert section["section"] == name
        assert (len(section["correct"]), len(section["correct"]) + len(section["incorrect"])) == answered[:2]
    assert [answered.questions for answered in found.values()] == [132, 2]
    if most_frequent is None:
        assert 30 < found["capitals"].correct < 132, "neither all nor nothing, or the comparison says little"


def test_questions_with_unknown_words_are_not_covered(questions):
    found = word_analogies.measure(WordVectors(WORDS, VECTORS), word_analogies.read_sections(questions))
    assert found["gram-of none"].covered == 1 and found["capitals"].covered == 132
    assert word_analogies.total(found) == SectionAccuracy(sum(section.correct for section in found.values()), 133, 134)
    assert SectionAccuracy(0, 0, 5).accuracy == 0 and SectionAccuracy(1, 4, 5).accuracy == 0.25


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            ": a\nb c d\n",
            "questions.txt:2: the line is not a question: expected 4 words, or `: section`, received 'b c d'",
        ),
        (": a\n\n", "questions.txt: the file has no questions"),
        ("", "has no questions"),
    ],
)
def test_invalid_questions_are_refused(tmp_path, content, message):
    (tmp_path / "questions.txt").write_text(content)
    with pytest.raises(DataError, match=message):
        word_analogies.read_sections(tmp_path / "questions.txt")
