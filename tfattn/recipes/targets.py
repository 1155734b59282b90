"""The target of a table: its column, and whether it is a class, a number, several labels or a text."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tfattn.errors import ConfigError, DataError, listed, nearest
from tfattn.formats.numbers import MISSING
from tfattn.recipes.columns import MISSING_MARKERS, Column, words_of_name
from tfattn.recipes.samples import Sample
from tfattn.recipes.text_tables import Ask

TargetKind = Literal["class", "number", "labels", "text"]

# Names of columns that are targets, and words in the names of columns that probably are.
TARGET_NAMES = (
    "target",
    "label",
    "labels",
    "class",
    "category",
    "categories",
    "y",
    "outcome",
    "tags",
    "标签",
    "类别",
    "分类",
)
_WORDS = set(TARGET_NAMES) | {
    *("churn", "churned", "sentiment", "polarity", "emotion", "intent", "topic", "genre", "spam", "toxic", "toxicity"),
    *("survived", "species", "income", "price", "medv", "quality", "rating", "stars", "score", "grade", "result"),
    *("response", "default", "fraud", "diagnosis", "judgment", "judgement", "entailment", "similarity", "relevance"),
    *("duplicate", "risk", "approved", "salary", "flag", "klasse", "kategorie", "ziel"),
}
_SEPARATORS = ("|", ";", ",")
MAX_CLASSES = 1000
MAX_INTEGER_CLASSES = 20
MIN_ROWS_OF_CLASS = 3  # on average
LONG_TEXT_WORDS = 4


@dataclass(frozen=True)
class Target:
    """The target of a table.

    Attributes:
        column: its column.
        chosen: why this column is the target.
        kind: what is predicted.
        reason: why this kind.
        separator: the separator of several labels.
        markers: texts of rows whose target is missing.
    """

    column: Column
    chosen: str
    kind: TargetKind
    reason: str
    separator: str = ""
    markers: tuple[str, ...] = ()


def choose_target(columns: Sequence[Column], sample: Sample, *, named: str | None, ask: Ask) -> Target:
    """Choose the column of the target, and detect its kind.

    Args:
        columns: the columns of the sample.
        sample: the sample.
        named: the name of the column, if the user has given it.
        ask: asks which of several columns is the target.

    Raises:
        ConfigError: there is no such column, or several columns may be the target and `ask` cannot ask.
        DataError: the column cannot be a target; says why.
    """
    column, chosen = _choose(columns, sample, named, ask)
    if not column.values:
        raise DataError("the target has no values", where=f"{sample.path}: column {column.name!r}", remedy=_another())
    kind, reason, separator = _kind(column, sample)
    # Rows whose value is empty are excluded without a setting.
    present = {text for text in MISSING_MARKERS if text} & set(map(str, sample.columns[column.name]))
    return Target(
        column, chosen, kind, reason, separator, tuple(sorted(present)) if kind != "number" else _markers(column)
    )


def _markers(column: Column) -> tuple[str, ...]:
    return tuple(sorted({*column.markers, *(marker for marker in MISSING if marker)})) if column.num_missing else ()


def _choose(columns: Sequence[Column], sample: Sample, named: str | None, ask: Ask) -> tuple[Column, str]:
    by_name = {column.name: column for column in columns}
    if named is not None:
        if named not in by_name:
            raise ConfigError(
                "there is no such column",
                where=f"{sample.path}: --target",
                expected=f"one of {listed(by_name)}",
                received=named,
                remedy=nearest(named, by_name),
            )
        return by_name[named], "named by --target"
    possible = [column for column in columns if column.kind not in ("identifier", "date", "constant", "messages")]
    if sample.has_header:
        tiers = [
            [column for column in columns if column.name.lower() in TARGET_NAMES],
            [column for column in possible if words_of_name(column.name) & _WORDS],
        ]
        for tier in tiers:
            if len(tier) == 1:
                return tier[0], "by its name"
            if tier:
                names = [column.name for column in tier]
                return by_name[ask(f"{sample.path}: several columns may be the target", names, "--target")], "chosen"
    if not possible:
        raise DataError(
            "no column can be the target",
            where=sample.path,
            received=", ".join(f"{column.name!r} ({column.reason})" for column in columns),
            remedy="Name one by --target.",
        )
    full = [column for column in possible if column.num_missing < sample.num_sampled / 2]
    short = [column for column in full if column.kind in ("category", "number", "list")]
    if len(short) == 1:
        return short[0], "the only column of classes or numbers"
    return (short or possible)[-1], "the last column of classes or numbers; --target COLUMN chooses another"


def _kind(column: Column, sample: Sample) -> tuple[TargetKind, str, str]:
    """Return the kind of a target, why, and the separator of its labels."""
    counts = column.counts
    where = f"{sample.path}: column {column.name!r}"
    if column.kind == "list":
        labels = {label for text in column.values if text.startswith("[") for label in map(str, json.loads(text))}
        return "labels", f"lists of {len(labels)} different labels", ""
    if len(counts) < 2:
        value = next(iter(counts))
        raise DataError("the target has a single value", where=where, received=repr(value[:40]), remedy=_another())
    if column.kind == "number":
        integers = all(text.lstrip("+-").isdecimal() for text in counts)
        if not integers or len(counts) > MAX_INTEGER_CLASSES or len(column.values) < 5 * len(counts):
            return "number", f"{len(counts):,} different numbers", ""
        return (
            "class",
            f"{len(counts)} different integers; for a number: `task: {{name: regression}}`, role `target`",
            "",
        )
    if separator := _separator(counts):
        parts = {part.strip() for text in counts for part in text.split(separator)}
        return "labels", f"{len(parts)} labels, separated by {separator!r}", separator
    if column.kind == "text" and column.mean_words >= LONG_TEXT_WORDS and len(counts) > 0.5 * len(column.values):
        return "text", f"texts of {column.mean_words:.0f} words on average", ""
    if len(counts) == len(column.values):
        raise DataError(
            "all values of the target are different, so they are no classes",
            where=where,
            received=f"{len(counts):,} values, such as {next(iter(counts))[:40]!r}",
            remedy=_another(),
        )
    if len(counts) > MAX_CLASSES or len(column.values) < MIN_ROWS_OF_CLASS * len(counts):
        raise DataError(
            "the target has too many classes for its rows",
            where=where,
            expected=f"at most {MAX_CLASSES:,} classes, and at least {MIN_ROWS_OF_CLASS} rows of each on average",
            received=f"{len(counts):,} different values in {len(column.values):,} rows",
            remedy=f"Combine rare values. {_another()}",
        )
    return "class", f"{len(counts)} different values", ""


def _separator(counts: Counter[str]) -> str:
    """Return the separator of texts that are lists of labels; "" if they are not."""
    for separator in _SEPARATORS:
        lists = [text for text in counts if separator in text]
        parts = [part.strip() for text in counts for part in text.split(separator)]
        is_short = all(0 < len(part.split()) <= LONG_TEXT_WORDS for part in parts)
        if len(lists) > 0.2 * len(counts) and is_short and len(set(parts)) < len(counts):
            return separator
    return ""


def _another() -> str:
    return "Name another column by --target."
