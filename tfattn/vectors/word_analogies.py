"""Accuracy of word vectors on analogies: king is to queen as man is to what?"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tfattn.errors import DataError
from tfattn.vectors.word_similarity import read_lines
from tfattn.vectors.word_vectors import WordVectors

SECTION = ":"  # the prefix of lines that name a section
WORDS = 4  # of a question: the first is to the second as the third is to the fourth
SCORES = 2**24  # scores in memory at a time

Question = tuple[str, ...]


class SectionAccuracy(NamedTuple):
    """The accuracy of a section.

    Attributes:
        correct: the number of correct answers.
        covered: the number of questions whose words all have vectors; other questions are skipped.
        questions: the number of questions.
    """

    correct: int
    covered: int
    questions: int

    @property
    def accuracy(self) -> float:
        """The fraction of correct answers of covered questions; 0 without any."""
        return self.correct / max(self.covered, 1)


def total(sections: Mapping[str, SectionAccuracy]) -> SectionAccuracy:
    """Sum sections."""
    return SectionAccuracy(*map(sum, zip(*sections.values(), strict=True)))


def measure(
    vectors: WordVectors, sections: Mapping[str, Sequence[Question]], most_frequent: int | None = None
) -> dict[str, SectionAccuracy]:
    """Answer questions by the nearest word to second - first + third, by section.

    The words of a question are excluded as answers, and case is ignored, as in word2vec and gensim.

    Args:
        vectors: the word vectors, the most frequent words first.
        sections: the questions of each section, see `read_sections`.
        most_frequent: the number of words to use, for questions and answers; None for all.

    Source: Mikolov et al. 2013, "Efficient Estimation of Word Representations in Vector Space", section 4.1.
    """
    counted = min(most_frequent or len(vectors), len(vectors))
    indices = {word: index for word, index in vectors.casefolded_indices.items() if index < counted}
    # Words that differ only in case are the same answer: each maps to the most frequent of them.
    same = np.array([indices[word.casefold()] for word in vectors.words[:counted]])
    found = {}
    for name, questions in sections.items():
        folded = ([word.casefold() for word in question] for question in questions)
        known = np.array([[indices[word] for word in question] for question in folded if indices.keys() >= {*question}])
        correct = 0
        step = max(1, SCORES // counted)
        for start in range(0, len(known), step):
            correct += _count_correct(vectors, same, known[start : start + step])
        found[name] = SectionAccuracy(correct, len(known), len(questions))
    return found


def _count_correct(vectors: WordVectors, same: np.ndarray, questions: np.ndarray) -> int:
    """Count the correct answers to Q questions, (Q, 4) indices of words."""
    first, second, third = (vectors.unit_vectors(questions[:, column]) for column in range(WORDS - 1))
    counted = len(same)
    scores = (second - first + third) @ vectors.vectors[:counted].T / vectors.norms[:counted]  # (Q, V)
    for column in range(WORDS - 1):
        scores[same == questions[:, column : column + 1]] = -np.inf
    return int((same[scores.argmax(axis=1)] == questions[:, -1]).sum())


def read_sections(path: str | Path) -> dict[str, list[Question]]:
    """Read questions in the format of questions-words.txt: four words per line, and `: name` before a section.

    Raises:
        DataError: a line has another format, or there are no questions; names the line.
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
                "the line is not a question",
                where=f"{path}:{number}",
                expected=f"{WORDS} words, or `: section`",
                received=repr(line[:60]),
            )
    if not sections:
        raise DataError("the file has no questions", where=str(path))
    return sections
