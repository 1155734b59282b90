"""Correlation of word vectors with human similarity scores."""

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import stats

from tfattn import files
from tfattn.errors import DataError
from tfattn.formats import numbers
from tfattn.vectors.word_vectors import WordVectors

DIVIDERS = ("\t", ",", ";")  # the first in a line divides it; without any, blanks do


class Pair(NamedTuple):
    """A pair of words and its human similarity score."""

    first: str
    second: str
    score: float


class Correlation(NamedTuple):
    """The correlation of cosine similarities with human scores.

    Attributes:
        spearman, pearson: the correlations; NaN if fewer than two pairs are covered, or all are equal.
        covered: the number of pairs whose words both have vectors; other pairs are skipped.
        pairs: the number of pairs.
    """

    spearman: float
    pearson: float
    covered: int
    pairs: int


def measure(vectors: WordVectors, pairs: list[Pair]) -> Correlation:
    """Correlate the cosine similarities of pairs with their human scores; case is ignored."""
    indices = vectors.casefolded_indices
    folded = [(first.casefold(), second.casefold(), score) for first, second, score in pairs]
    known = [(indices[a], indices[b], score) for a, b, score in folded if a in indices and b in indices]
    if len(known) < 2:
        return Correlation(math.nan, math.nan, len(known), len(pairs))
    firsts, seconds, scores = map(np.array, zip(*known, strict=True))
    cosines = np.einsum("nd,nd->n", vectors.unit_vectors(firsts), vectors.unit_vectors(seconds))
    if np.ptp(cosines) == 0 or np.ptp(scores) == 0:
        return Correlation(math.nan, math.nan, len(known), len(pairs))
    spearman, pearson = stats.spearmanr(cosines, scores).statistic, stats.pearsonr(cosines, scores).statistic
    return Correlation(float(spearman), float(pearson), len(known), len(pairs))


def read_pairs(path: str | Path) -> list[Pair]:
    """Read a file of pairs: two words and a score per line, separated by tabs, commas, semicolons or blanks.

    Lines that start with # are comments, and the first line may name the columns. Columns between the words and the
    first number, such as the part of speech of SimLex-999, and columns after it are ignored.

    Raises:
        DataError: a line has another format, or there are no pairs; names the line.
    """
    pairs = list(_pairs(Path(path)))
    if not pairs:
        raise DataError("the file has no pairs of words", where=str(path))
    return pairs


def _pairs(path: Path) -> Iterator[Pair]:
    is_first = True
    for number, line in enumerate(read_lines(path), start=1):
        if not line or line.startswith("#"):
            continue
        divider = next((character for character in DIVIDERS if character in line), None)
        first, second, *rest = [part.strip() for part in line.split(divider)] + ["", ""]
        score = next((value for value in map(numbers.read, rest) if value is not None), None)
        if first and second and score is not None:
            yield Pair(first, second, score)
        elif not is_first:
            raise DataError(
                "the line is not a pair of words with its score",
                where=f"{path}:{number}",
                expected="two words and a number, separated by tabs, commas, semicolons or blanks",
                received=repr(line[:60]),
            )
        is_first = False


def read_lines(path: Path) -> list[str]:
    """Read the lines of a small text file, stripped of blanks.

    Raises:
        DataError: the file is missing, or not UTF-8.
    """
    try:
        text = files.read_bytes(path, remedy="").decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"the file is not UTF-8 ({error.reason})", where=f"{path}, byte {error.start:,}") from None
    return [line.strip() for line in re.split("\r?\n", text)]
