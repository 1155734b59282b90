"""The metrics of extracted answers, by the rules of the SQuAD evaluation scripts."""

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
    """Return 1 if an answer equals a reference, else 0; without references the empty answer is right.

    References that consist of articles and punctuation are ignored, as in SQuAD 2.0's script.

    Example:
        >>> exact_match("the cat", ["A cat!", "dog"]), exact_match("", []), exact_match("cat", [])
        (1.0, 1.0, 0.0)
    """
    return float(units_of(given, units) in _references(answers, units))


def f1(given: str, answers: Sequence[str], *, units: Units = "words") -> float:
    """Return the best F1 of an answer's words against the references, as multisets.

    Without references the F1 of the empty answer is 1. References are ignored as by `exact_match`.

    Args:
        given: the answer.
        answers: the references.
        units: "words" or, for languages without spaces, "characters".

    Example:
        >>> f1("the black cat", ["black cat sat"])
        0.8
    """
    return max(_f1(units_of(given, units), reference) for reference in _references(answers, units))


def units_of(answer: str, units: Units) -> list[str]:
    """Split an answer into normalized words or characters.

    Words are lowercased, then stripped of ASCII punctuation and of articles; characters are lowercased, without any
    punctuation.

    Example:
        >>> units_of("The  Twenty-One, a day", "words"), units_of("在1998年。", "characters")
        (['twentyone', 'day'], ['在', '1', '9', '9', '8', '年'])
    """
    if units == "characters":
        return [character for character in answer.lower() if unicodedata.category(character)[0] not in "PSZC"]
    return _ARTICLES.sub(" ", answer.lower().translate(_NO_PUNCTUATION)).split()


def _references(answers: Sequence[str], units: Units) -> list[list[str]]:
    """Split the references into units, without empty ones; without any reference return the empty answer."""
    return [found for answer in answers if (found := units_of(answer, units))] or [[]]


def _f1(given: list[str], reference: list[str]) -> float:
    if not (given and reference):
        return float(given == reference)
    return 2 * sum((Counter(given) & Counter(reference)).values()) / (len(given) + len(reference))
