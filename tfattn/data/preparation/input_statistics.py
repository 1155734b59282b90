"""Histograms of the inputs of training rows, which new rows are compared with."""

import json
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tfattn import files
from tfattn.formats.numbers import read, stripped

if TYPE_CHECKING:  # imports TensorFlow, which a profile of raw rows does without
    from tfattn.preprocessing.preprocessor import Preprocessor

STATISTICS = "statistics.json"
MAX_ROWS = 10_000  # a random sample of the training rows
BINS = 10  # of numbers and lengths, with equal numbers of training rows
MAX_VALUES = 20  # the most frequent categories; all others are counted together
MAX_WORDS, MIN_WORD_ROWS = 2_000, 3  # the most frequent words of a text, each in several rows
# Edges of the bins of fractions of unknown words; the first bin has texts without any.
UNKNOWN_EDGES = [0.001, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.75]
MAX_CHARACTERS = 10_000  # of a text, whose words are counted
# Thai, Chinese and Japanese have no spaces between words: their characters are counted.
_UNSPACED = r"\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")


@dataclass(frozen=True)
class Histogram:
    """Counts of the values of an input.

    Attributes:
        kind: "number", "category", or "length", the number of characters of a text.
        bins: inner edges of the bins of numbers and lengths, ascending; or categories.
        counts: the rows in each bin: one more than edges; or of each category, then of all others.
        missing: the rows without a value.
    """

    kind: Literal["number", "category", "length"]
    bins: list[float] | list[str]
    counts: list[int]
    missing: int = 0

    @classmethod
    def learn(cls, kind: str, values: Sequence[str], missing: Sequence[str] = ()) -> "Histogram":
        """Choose bins for the values of training rows, and count the values.

        Args:
            kind: see `kind`.
            values: a text per row.
            missing: the texts that mean a missing value.

        Example:
            >>> Histogram.learn("category", ["a", "b", "a", "?"], missing=("?",))
            Histogram(kind='category', bins=['a', 'b'], counts=[2, 1, 0], missing=1)
        """
        known = [value for value in (_measured(kind, text, missing) for text in values) if value is not None]
        if kind == "category":
            bins = [value for value, _ in Counter(known).most_common(MAX_VALUES)]
        else:
            fractions = np.arange(1, BINS) / BINS
            bins = sorted({float(edge) for edge in np.quantile(known, fractions)}) if known else []
        return cls(kind, bins, []).of(values, missing)

    def of(self, values: Sequence[str], missing: Sequence[str] = ()) -> "Histogram":
        """Count other values in the same bins."""
        counts, absent = [0] * (len(self.bins) + 1), 0
        index_of = {value: index for index, value in enumerate(self.bins)}
        for text in values:
            value = _measured(self.kind, text, missing)
            if value is None:
                absent += 1
            elif self.kind == "category":
                counts[index_of.get(value, len(self.bins))] += 1
            else:
                counts[bisect_right(self.bins, value)] += 1
        return Histogram(self.kind, self.bins, counts, absent)

    def sample(self, size: int, rng: np.random.Generator, *, missing: str) -> list[str]:
        """Sample values with the distribution of the training rows; other categories are not sampled.

        A number is uniform between the edges of its bin, or the edge of the first or the last bin.

        Args:
            size: the number of values.
            rng: the random generator.
            missing: the text of a missing value.
        """
        counts = np.array([*self.counts, self.missing], float)
        if self.kind == "category":
            counts[len(self.bins)] = 0
        drawn = rng.choice(len(counts), size, p=counts / counts.sum()) if counts.any() else [-1] * size
        return [missing if bin in (-1, len(self.bins) + 1) else self._value_in(bin, rng) for bin in drawn]

    def _value_in(self, bin: int, rng: np.random.Generator) -> str:
        if self.kind == "category":
            return str(self.bins[bin])
        low, high = (self.bins[min(max(edge, 0), len(self.bins) - 1)] for edge in (bin - 1, bin))
        return f"{rng.uniform(low, high):.7g}"


@dataclass(frozen=True)
class WordStatistics:
    """The frequent words of a text input. They show whether new texts use other words.

    Attributes:
        words: the frequent words, in lower case, of half of the rows.
        unknown: the histogram of the fraction of other words in each text, of the other half.
    """

    words: list[str]
    unknown: Histogram

    @classmethod
    def learn(cls, texts: Sequence[str]) -> "WordStatistics":
        """Choose the frequent words of every second text, and measure the fraction of other words in the others."""
        counts = Counter(word for text in texts[::2] for word in set(_words(text)))
        words = [word for word, rows in counts.most_common(MAX_WORDS) if rows >= MIN_WORD_ROWS]
        return cls(words, Histogram("number", UNKNOWN_EDGES, []).of(_unknown_fractions(texts[1::2], words)))

    def of(self, texts: Sequence[str]) -> Histogram:
        """Count the fractions of unknown words of other texts in the same bins."""
        return self.unknown.of(_unknown_fractions(texts, self.words))


@dataclass(frozen=True)
class InputStatistics:
    """The histograms of the inputs of training rows, and the facts about their targets.

    Attributes:
        rows: the number of rows.
        inputs: the histogram of each input.
        missing: the texts that mean a missing value.
        targets: see `Target.facts`.
        words: the frequent words of each text input.
        predictions: the histograms of the predictions for rows that the model was not trained on; only in exports.
    """

    rows: int
    inputs: dict[str, Histogram]
    missing: list[str] = field(default_factory=list)
    targets: dict[str, Any] = field(default_factory=dict)
    words: dict[str, WordStatistics] = field(default_factory=dict)
    predictions: dict[str, Histogram] = field(default_factory=dict)

    @classmethod
    def of(
        cls, rows: Iterable[Mapping[str, Any]], preprocessing: "Preprocessor", targets: Mapping[str, Any]
    ) -> "InputStatistics":
        """Compute the statistics of rows; lists of texts are joined, and files have none.

        Args:
            rows: the fields of at most MAX_ROWS training rows.
            preprocessing: reads the fields.
            targets: facts about the targets.
        """
        names = [name for name in preprocessing.fields if name not in preprocessing.file_fields]
        rows = list(rows)
        missing = list(preprocessing.missing)
        values = {name: [as_text(row[name]) for row in rows] for name in names}
        kinds = {name: _kind(name, preprocessing) for name in names}
        inputs = {name: Histogram.learn(kinds[name], values[name], missing) for name in names}
        words = {name: WordStatistics.learn(values[name]) for name in names if kinds[name] == "length"}
        return cls(len(rows), inputs, missing, dict(targets), words)

    def sample(self, size: int, *, seed: int) -> list[dict[str, str]]:
        """Sample rows, each input by itself: the correlations of the training rows are lost."""
        rng = np.random.default_rng(seed)
        missing = min(self.missing, default="", key=len)
        columns = {name: histogram.sample(size, rng, missing=missing) for name, histogram in self.inputs.items()}
        return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]

    def write(self, path: Path) -> None:
        """Write the statistics as JSON."""
        files.write_json(path, asdict(self))

    @staticmethod
    def read(path: Path, *, remedy: str) -> "InputStatistics":
        """Read the statistics.

        Raises:
            DataError: the file is damaged; names the remedy.
        """
        return files.read_json(path, InputStatistics, remedy=remedy)


def as_text(value: Any) -> str:
    """Return a raw value as text, with the texts of a list joined.

    Example:
        >>> as_text(["He sits.", "He runs."])
        'He sits. He runs.'
    """
    if isinstance(value, list):
        return " ".join(map(as_text, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _kind(name: str, preprocessing: "Preprocessor") -> str:
    if not preprocessing.reads_columns:
        return "length"
    return "number" if name in preprocessing.numeric else "category"


def _measured(kind: str, text: str, missing: Sequence[str]) -> float | str | None:
    """Return a number, a category or a length; None if the value is missing."""
    if kind == "length":
        return float(len(text))
    plain = stripped(text)
    if plain in missing:
        return None
    return plain if kind == "category" else read(plain)


def _words(text: str) -> list[str]:
    return _WORD.findall(text[:MAX_CHARACTERS].lower())


def _unknown_fractions(texts: Sequence[str], known: Sequence[str]) -> list[str]:
    """Return the fraction of the words of each text that are not known; empty for a text without words."""
    known = set(known)
    words = map(_words, texts)
    return [f"{sum(word not in known for word in some) / len(some):.4f}" if some else "" for some in words]
