"""How well word vectors agree with people on which words are similar."""

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

DIVIDERS = ("\t", ",", ";")  # the first that a line has divides it, or else blanks do


class Pair(NamedTuple):
    """Two words, and how similar people find them."""

    one: str
    other: str
    score: float


class Agreement(NamedTuple):
    """How well cosines agree with what people say.

    Attributes:
        spearman, pearson: the correlations; not a number where fewer than two pairs are covered, or all are alike.
        covered: the pairs whose words both have vectors. The others are left out.
        pairs: all of them.
    """

    spearman: float
    pearson: float
    covered: int
    pairs: int


def measure(vectors: WordVectors, pairs: list[Pair]) -> Agreement:
    """Compare the cosines of pairs of words with the scores that people gave them; case is ignored."""
    places = vectors.places_without_case
    found = [(one.casefold(), other.casefold(), score) for one, other, score in pairs]
    known = [(places[one], places[other], score) for one, other, score in found if one in places and other in places]
    if len(known) < 2:
        return Agreement(math.nan, math.nan, len(known), len(pairs))
    ones, others, scores = map(np.array, zip(*known, strict=True))
    cosines = np.einsum("nd,nd->n", vectors.directions(ones), vectors.directions(others))
    if np.ptp(cosines) == 0 or np.ptp(scores) == 0:
        return Agreement(math.nan, math.nan, len(known), len(pairs))
    spearman, pearson = stats.spearmanr(cosines, scores).statistic, stats.pearsonr(cosines, scores).statistic
    return Agreement(float(spearman), float(pearson), len(known), len(pairs))


def read_pairs(path: str | Path) -> list[Pair]:
    """Read a file of pairs: two words and a score in each line, with tabs, commas, semicolons or blanks between.

    Lines that begin with # are comments, and the first line may name the columns. Columns between the words and the
    first number are passed over, such as SimLex-999's part of speech, and so is what stands behind it.

    Raises:
        DataError: a line is something else; names it. Or there are no pairs.
    """
    pairs = list(_pairs(Path(path)))
    if not pairs:
        raise DataError("the file holds no pairs of words", where=str(path))
    return pairs


def _pairs(path: Path) -> Iterator[Pair]:
    is_first = True
    for number, line in enumerate(read_lines(path), start=1):
        if not line or line.startswith("#"):
            continue
        divider = next((one for one in DIVIDERS if one in line), None)
        one, other, *rest = [part.strip() for part in line.split(divider)] + ["", ""]
        score = next((value for value in map(numbers.read, rest) if value is not None), None)
        if one and other and score is not None:
            yield Pair(one, other, score)
        elif not is_first:
            raise DataError(
                "the line is no pair of words with its score",
                where=f"{path}:{number}",
                expected="a word, a word and a number, with tabs, commas, semicolons or blanks between",
                received=repr(line[:60]),
            )
        is_first = False


def read_lines(path: Path) -> list[str]:
    """Read the lines of a small text file, without blanks at their ends.

    Raises:
        DataError: it is missing, or not UTF-8.
    """
    try:
        text = files.read_bytes(path, remedy="").decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"the file is not UTF-8 ({error.reason})", where=f"{path}, byte {error.start:,}") from None
    return [line.strip() for line in re.split("\r?\n", text)]
