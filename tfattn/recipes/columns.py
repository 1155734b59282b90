"""Kinds of columns, by their values: numbers, categories, texts, dates, identifiers."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from tfattn.formats.chat_rows import keys_of_message
from tfattn.formats.numbers import MISSING, NUMBER, read
from tfattn.recipes.samples import Value, shown

ColumnKind = Literal["number", "category", "text", "date", "identifier", "constant", "names", "messages", "list"]

# Texts that often mean a missing value, in addition to the default ones of the preprocessing.
MISSING_MARKERS = (*MISSING, "N/A", "n/a", "NaN", "NULL", "null", "None", "-", "--", ".")
MAX_CATEGORIES = 200
MIN_DISTINCT_ROWS = 20  # fewer different values say nothing about an identifier
RARE_ROWS = 5  # values in fewer rows may be absent from the training rows

_DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([ T]\d{1,2}:\d{2}.*)?|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}( \d{1,2}:\d{2}.*)?|\d{4}年.*"
)
_DECIMAL_COMMA = re.compile(r"-?\d+,\d+")
_ID_WORDS = {"id", "ids", "uuid", "guid", "key", "index", "idx", "nr", "rowid", "编号"}
_IDEOGRAPH = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_ENGLISH = re.compile(r"\b(?:the|of|and|to|in|is|a|for|on|with|that|this|it|was|are|be|not|have|from|by)\b")
_OTHERS = re.compile(
    r"\b(?:der|die|das|und|ist|ein|nicht|mit|le|la|les|des|et|est|une|pas|el|los|las|que|es|un|por|il|di|che|per|een|"
    r"het|van|en|och|det|som|att|jest|nie|się|na|z|w)\b"
)


@dataclass(frozen=True)
class Column:
    """A column of a sample.

    Attributes:
        name: its name, or its number from 1.
        kind: what its values are.
        reason: why.
        values: the values that are not missing, as texts.
        num_missing: the number of missing values in the sample.
        markers: texts that mean a missing value here, other than the defaults of the preprocessing.
        counts: the number of rows of each value.
    """

    name: str
    kind: ColumnKind
    reason: str
    values: list[str] = field(repr=False)
    num_missing: int
    markers: tuple[str, ...] = ()
    counts: Counter[str] = field(default_factory=Counter, repr=False)

    @property
    def mean_words(self) -> float:
        """The mean number of words."""
        return sum(map(count_words, self.values)) / max(1, len(self.values))


def detect_column(name: str, values: Sequence[Value]) -> Column:
    """Detect the kind of a column.

    Example:
        >>> detect_column("age", ["39", "50", "38", ""]).kind
        'number'
    """
    if lists := [value for value in values if not isinstance(value, str)]:
        chats = all(isinstance(value, list) and value and all(map(keys_of_message, value)) for value in lists)
        kind: ColumnKind = "messages" if chats else "list"
        texts = [shown(value) for value in values]
        return Column(name, kind, "its values are lists", texts, len(values) - len(lists), (), Counter(texts))
    texts = [value.strip() for value in values]
    present = [text for text in texts if text not in MISSING_MARKERS]
    markers = tuple(sorted({text for text in texts if text in MISSING_MARKERS} - set(MISSING)))
    counts = Counter(present)
    kind, reason = _kind(name, present, counts)
    if kind == "number":  # a few texts among numbers mean that the number is missing
        markers += tuple(sorted(text for text in counts if not _is_number(text)))
        present = [text for text in present if _is_number(text)]
    return Column(name, kind, reason, present, len(texts) - len(present), markers, counts)


def words_of_name(name: str) -> set[str]:
    """Return the words of a column's name.

    Example:
        >>> sorted(words_of_name("isChurned_flag"))
        ['churned', 'flag', 'is']
    """
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[^\W\d_a-zA-Z]+", name)}


def count_words(text: str) -> int:
    """Count the words of a text; two ideographs count as a word."""
    ideographs = len(_IDEOGRAPH.findall(text))
    return len(_IDEOGRAPH.sub(" ", text).split()) + (ideographs + 1) // 2


def detect_language(texts: Sequence[str]) -> Literal["English", "Chinese", "other"]:
    """Detect whether texts are English, without spaces between words (Chinese, Japanese), or something else."""
    text = " ".join(texts[:2000])
    letters = [character for character in text if character.isalpha()]
    if len(_IDEOGRAPH.findall(text)) > 0.3 * max(1, len(letters)):
        return "Chinese"
    english, others = (len(known.findall(text.lower())) for known in (_ENGLISH, _OTHERS))
    ascii_letters = sum(letter.isascii() for letter in letters)
    return "English" if english >= others and ascii_letters > 0.95 * len(letters) else "other"


def _kind(name: str, present: list[str], counts: Counter[str]) -> tuple[ColumnKind, str]:
    if not counts:
        return "constant", "it has no values"
    [(_, most_common)] = counts.most_common(1)
    if len(present) - most_common < min(RARE_ROWS, len(present) / 2):
        return "constant", "all rows have the same value" if len(counts) == 1 else "nearly all rows have the same value"
    numbers = sum(map(_is_number, present))
    is_unique = len(counts) == len(present) >= MIN_DISTINCT_ROWS
    if is_unique and _is_identifier(name, present, numbers):
        return "identifier", "every row has another value"
    others = {text for text in counts if not _is_number(text)}
    if numbers == len(present) or numbers > 0.8 * len(present) and len(others) <= 2:
        return ("category", "two numbers") if len(counts) <= 2 else ("number", "numbers")
    if sum(_DATE.fullmatch(text) is not None for text in present) > 0.95 * len(present):
        return "date", "dates"
    return _kind_of_texts(present, counts)


def _kind_of_texts(present: list[str], counts: Counter[str]) -> tuple[ColumnKind, str]:
    mean_words = sum(map(count_words, counts)) / len(counts)
    if len(counts) <= MAX_CATEGORIES and (len(counts) <= 0.5 * len(present) or len(counts) <= 3):
        return "category", f"{len(counts)} different values"
    if sum(_DECIMAL_COMMA.fullmatch(text) is not None for text in present) > 0.8 * len(present):
        return "names", "numbers with a decimal comma, which are not read: write them with a point"
    if mean_words >= 3:
        return "text", f"texts of {mean_words:.0f} words on average"
    return "names", f"{len(counts):,} different short texts"


def _is_identifier(name: str, present: list[str], numbers: int) -> bool:
    if words_of_name(name) & _ID_WORDS and all(len(text.split()) == 1 for text in present[:100]):
        return True
    if numbers == len(present):
        steps = [int(text) for text in present if text.isdecimal()]
        return len(steps) == len(present) and steps == list(range(steps[0], steps[0] + len(steps)))
    return all(re.fullmatch(r"[\w.:/-]*\d[\w.:/-]*", text, re.ASCII) for text in present[:100]) and not any(
        _DATE.fullmatch(text) for text in present[:100]
    )


def _is_number(text: str) -> bool:
    return re.fullmatch(NUMBER, text) is not None


def out_of_range(column: Column) -> list[str]:
    """Return numbers of a column that float32 cannot represent."""
    return [text for text in column.counts if _is_number(text) and read(text) is None]
