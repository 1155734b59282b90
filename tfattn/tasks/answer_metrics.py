"""How well answers are found, by the rules of SQuAD's own scorers."""

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import Literal

Units = Literal["words", "characters"]

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def exact_match(given: str, answers: Sequence[str], *, units: Units = "words") -> float:
    """Return 1 if an answer equals one of those that are right, else 0; without any, it is right to give none.

    A right answer of nothing but articles and punctuation is left out, as in SQuAD 2.0's scorer.

    Example:
        >>> exact_match("the cat", ["A cat!", "dog"]), exact_match("", []), exact_match("cat", [])
        (1.0, 1.0, 0.0)
    """
    return float(units_of(given, units) in _right(answers, units))


def f1(given: str, answers: Sequence[str], *, units: Units = "words") -> float:
    """Return the best F1 of an answer's words against those of one that is right, each word as often as it is there.

    Without any that is right, it is 1 for none. Right answers are left out as by `exact_match`.

    Args:
        given: the answer.
        answers: those that are right.
        units: what is compared, words or, in languages without spaces between them, characters.

    Example:
        >>> f1("the black cat", ["black cat sat"])
        0.8
    """
    return max(_f1(units_of(given, units), wanted) for wanted in _right(answers, units))


def units_of(answer: str, units: Units) -> list[str]:
    """Divide an answer into what is compared.

    Words are compared in lower case, without punctuation of ASCII, without articles, in this order; characters in lower
    case and without any punctuation.

    Example:
        >>> units_of("The  Twenty-One, a day", "words"), units_of("在1998年。", "characters")
        (['twentyone', 'day'], ['在', '1', '9', '9', '8', '年'])
    """
    if units == "characters":
        return [one for one in answer.lower() if unicodedata.category(one)[0] not in "PSZC"]
    return _ARTICLES.sub(" ", answer.lower().translate(_NO_PUNCTUATION)).split()


def _right(answers: Sequence[str], units: Units) -> list[list[str]]:
    """Divide the right answers into units: those of which something is left, or else no answer alone."""
    return [found for answer in answers if (found := units_of(answer, units))] or [[]]


def _f1(given: list[str], wanted: list[str]) -> float:
    if not (given and wanted):
        return float(given == wanted)
    return 2 * sum((Counter(given) & Counter(wanted)).values()) / (len(given) + len(wanted))
