"""How many analogies word vectors know: king to queen is as man to what?"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tfattn.errors import DataError
from tfattn.vectors.word_similarity import read_lines
from tfattn.vectors.word_vectors import WordVectors

SECTION = ":"  # begins the line that names one
WORDS = 4  # of a question: the first is to the second as the third to the fourth
SCORES = 2**24  # that are held at a time

Question = tuple[str, ...]


class Answered(NamedTuple):
    """How many questions of a section are answered rightly.

    Attributes:
        right: the answers that are the fourth word.
        covered: the questions whose words all have vectors. The others are left out.
        questions: all of them.
    """

    right: int
    covered: int
    questions: int

    @property
    def accuracy(self) -> float:
        """Of what is covered; 0 where nothing is."""
        return self.right / max(self.covered, 1)


def total(sections: Mapping[str, Answered]) -> Answered:
    """Add sections up."""
    return Answered(*map(sum, zip(*sections.values(), strict=True)))


def measure(
    vectors: WordVectors, sections: Mapping[str, Sequence[Question]], most_frequent: int | None = None
) -> dict[str, Answered]:
    """Answer questions by the nearest word to second - first + third, by section.

    The words of a question are no answers, and case is ignored, as in word2vec's own measure and gensim's.

    Args:
        vectors: the most frequent words first.
        sections: the questions of each, see `read_sections`.
        most_frequent: how many of the words count, for questions and for answers; None for all.

    Source: Mikolov et al. 2013, "Efficient Estimation of Word Representations in Vector Space", section 4.1.
    """
    counted = min(most_frequent or len(vectors), len(vectors))
    places = {word: place for word, place in vectors.places_without_case.items() if place < counted}
    # Words that differ in case alone are the same answer: each stands for the first of them.
    same = np.array([places[word.casefold()] for word in vectors.words[:counted]])
    found = {}
    for name, questions in sections.items():
        folded = ([word.casefold() for word in question] for question in questions)
        known = np.array([[places[word] for word in question] for question in folded if places.keys() >= {*question}])
        right = 0
        step = max(1, SCORES // counted)
        for start in range(0, len(known), step):
            right += _right(vectors, same, known[start : start + step])
        found[name] = Answered(right, len(known), len(questions))
    return found


def _right(vectors: WordVectors, same: np.ndarray, questions: np.ndarray) -> int:
    """Count the right answers to Q questions, (Q, 4) rows of vectors."""
    first, second, third = (vectors.directions(questions[:, place]) for place in range(WORDS - 1))
    counted = len(same)
    scores = (second - first + third) @ vectors.vectors[:counted].T / vectors.lengths[:counted]  # (Q, V)
    for place in range(WORDS - 1):
        scores[same == questions[:, place : place + 1]] = -np.inf
    return int((same[scores.argmax(axis=1)] == questions[:, -1]).sum())


def read_sections(path: str | Path) -> dict[str, list[Question]]:
    """Read questions as questions-words.txt has them: a line of four words each, and `: name` where a section begins.

    Raises:
        DataError: a line is something else; names it. Or there are no questions.
    """
    sections: dict[str, list[Question]] = {}
    name = ""
    for number, line in enumerate(read_lines(Path(path)), start=1):
        words = tuple(line.split())
        if line.startswith(SECTION):
            name = line.removeprefix(SECTION).strip()
        elif len(words) == WORDS:
            sections.setdefault(name, []).append(words)
        elif line:
            raise DataError(
                "the line is no question",
                where=f"{path}:{number}",
                expected=f"{WORDS} words, or `: section`",
                received=repr(line[:60]),
            )
    if not sections:
        raise DataError("the file holds no questions", where=str(path))
    return sections
