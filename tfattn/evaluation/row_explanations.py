"""Explanations of single predictions: the contribution of each word or column to a score."""

import dataclasses
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from tfattn.errors import DataError
from tfattn.evaluation.shapley import shapley_values
from tfattn.features import PREDICTIONS

Row = Mapping[str, Any]

SAMPLES = {"words": 10, "columns": 100}  # by default; of columns each has a background row of its own
MAX_WORDS = 100  # that have a contribution of their own
MAX_EVALUATIONS = 20_000  # of a row
MAX_BATCH_ROWS, MAX_BATCH_WORDS = 1024, 4096
# Chinese and Japanese have no spaces: each character is a word, as on the pages of attention.
WORD = re.compile(r"(?:[\u3000-\ud7ff\uf900-\ufaff]|[^\s\u3000-\ud7ff\uf900-\ufaff]+)\s*")


class Scorer(Protocol):
    """A `TrainedEnsemble` or a `ServedEnsemble`."""

    preprocessor: Any
    labels: Sequence[str]

    def predict_each(self, rows: Sequence[Row]) -> list[Mapping[str, np.ndarray]]: ...


@dataclass(frozen=True)
class Explanation:
    """The contributions of the K words or columns of a row to a score.

    Attributes:
        row: the raw row.
        explained: the label of the score, or "prediction".
        is_table: whether the units are columns.
        score: the score of the row.
        base: the mean score of the background rows, or the score of the text without words.
        fields: the input of each unit.
        texts: the words, or stretches of adjacent words, with the white space after them; or the values of the columns.
        values: (K,), which sum to `score` minus `base`.
        low, high: (K,) each, the ends of the 95 % intervals of `values` over more samples.
        evaluations: the number of predictions that were computed.
    """

    row: Row
    explained: str
    is_table: bool
    score: float
    base: float
    fields: Sequence[str]
    texts: Sequence[str]
    values: np.ndarray
    low: np.ndarray
    high: np.ndarray
    evaluations: int

    @property
    def is_clear(self) -> np.ndarray:
        """(K,) bool, whether the interval of a value excludes 0."""
        return (self.low > 0) | (self.high < 0)

    @property
    def names(self) -> list[str]:
        """The word, or the column with its value, of each unit."""
        if not self.is_table:
            return [text.strip() for text in self.texts]
        return [f"{field} = {text.strip()}" for field, text in zip(self.fields, self.texts, strict=True)]

    @property
    def ranking(self) -> np.ndarray:
        """The indices of the units, the largest absolute value first."""
        return np.argsort(-np.abs(self.values), kind="stable")

    def line(self) -> dict[str, Any]:
        """Return the explanation as a JSON-like dictionary."""
        units = []
        for index, (field, text) in enumerate(zip(self.fields, self.texts, strict=True)):
            unit = {"column": field, "value": text} if self.is_table else {"input": field, "words": text.strip()}
            numbers = {"contribution": self.values[index], "low": self.low[index], "high": self.high[index]}
            units.append(unit | {name: _rounded(number) for name, number in numbers.items()})
        return {
            "row": self.row["row"],
            **{name: self.row[name] for name in dict.fromkeys(self.fields)},
            "explained": self.explained,
            "score": _rounded(self.score),
            "base": _rounded(self.base),
            "units": units,
        }


class Explainer:
    """Shapley values of the words of texts, or of the columns of tables, from predictions alone.

    A word is absent if it is removed from the text; its score without words is the base. A column is absent if it has
    the value of a background row; the base is the mean score of the background rows (interventional Shapley values).

    Sources: Strumbelj and Kononenko 2014, "Explaining prediction models and individual predictions with feature
    contributions"; Lundberg and Lee 2017, "A unified approach to interpreting model predictions", section 2.

    Args:
        scorer: the model.
        background: raw rows of a table, which are representative of all rows; of texts none.
        samples: the number of random orders, each with its reverse; by default SAMPLES.
        seed: the seed of the random orders.

    Raises:
        DataError: a table has no background rows.
    """

    def __init__(self, scorer: Scorer, *, background: Sequence[Row] = (), samples: int | None = None, seed: int = 0):
        self._scorer, self._background, self._seed = scorer, background, seed
        self.is_table: bool = scorer.preprocessor.reads_columns
        self._samples = samples or SAMPLES["columns" if self.is_table else "words"]
        if self.is_table and not background:
            raise DataError(
                "there are no background rows, with which the values of a row are compared",
                expected="rows like those of training",
                remedy="Name a file, such as the training file: --background FILE.",
            )

    def units(self, row: Row) -> tuple[list[str], list[str]]:
        """Return the input and the text of each word or column of a row."""
        return columns(row, self._scorer) if self.is_table else words(row, self._scorer)

    def check(self, row: Row) -> tuple[list[str], list[str]]:
        """Check that a row can be explained; return the input and the text of each word or column.

        Raises:
            DataError: the row has no words, or too many.
        """
        fields, texts = self.units(row)
        if not texts:
            raise DataError("the text is empty: it has no words to explain", where=row["row"])
        if 2 * self._samples * len(texts) > MAX_EVALUATIONS:
            unit, most = "columns" if self.is_table else "words", MAX_EVALUATIONS // (2 * len(texts))
            raise DataError(
                f"there are too many samples for {len(texts):,} {unit}",
                where=row["row"],
                expected=f"at most {most:,} samples, which are {MAX_EVALUATIONS:,} predictions",
                received=f"{self._samples:,}",
                remedy="Use fewer samples: --samples.",
            )
        return fields, texts

    def explain(self, row: Row, index: int | None) -> Explanation:
        """Explain a score of a row.

        Args:
            row: the raw row; `row` is its location.
            index: the index of the label; None for a predicted number.

        Raises:
            DataError: the row has no words, or too many.
        """
        fields, texts = self.check(row)

        def score(present: np.ndarray, drawn: np.ndarray) -> np.ndarray:
            if self.is_table:
                rows = [self._replaced(row, fields, *each) for each in zip(present, drawn, strict=True)]
            else:
                rows = [without_words(row, fields, texts, kept) for kept in present]
            return self._scores(rows, present.sum(axis=1), index)

        found = shapley_values(
            score, len(texts), samples=self._samples, num_backgrounds=max(1, len(self._background)), seed=self._seed
        )
        explained = "prediction" if index is None else self._scorer.labels[index]
        return Explanation(row, explained, self.is_table, fields=fields, texts=texts, **dataclasses.asdict(found))

    def _replaced(self, row: Row, names: Sequence[str], kept: np.ndarray, background: int) -> Row:
        """Return a row with the values of a background row in the columns that are absent."""
        other = self._background[background]
        return {**row, **{name: other[name] for name, is_kept in zip(names, kept, strict=True) if not is_kept}}

    def _scores(self, rows: Sequence[Row], sizes: np.ndarray, index: int | None) -> np.ndarray:
        """Predict rows in batches of rows of similar sizes."""
        scores = np.empty(len(rows))
        order = np.argsort(sizes, kind="stable")
        for batch in _batches(order, sizes, max_words=None if self.is_table else MAX_BATCH_WORDS):
            predicted = self._scorer.predict_each([rows[number] for number in batch])
            name = PREDICTIONS if index is None else "scores"
            mean = np.mean([np.asarray(member[name], np.float64) for member in predicted], axis=0)
            scores[batch] = mean if index is None else mean[:, index]
        return scores


def columns(row: Row, scorer: Scorer) -> tuple[list[str], list[str]]:
    """Return the columns that a model reads, and their values in a row."""
    names = list(scorer.preprocessor.fields)
    return names, [row[name] for name in names]


def words(row: Row, scorer: Scorer) -> tuple[list[str], list[str]]:
    """Return the input of each word of a row, and the words with the white space after them.

    A text with more than MAX_WORDS words is divided into stretches of equally many words.
    """
    found = {name: WORD.findall(row[name]) for name in scorer.preprocessor.fields}
    size = max(1, math.ceil(sum(map(len, found.values())) / MAX_WORDS))
    pairs = []
    for name, each in found.items():
        pairs += [(name, "".join(each[start : start + size])) for start in range(0, len(each), size)]
    return [name for name, _ in pairs], [text for _, text in pairs]


def without_words(row: Row, fields: Sequence[str], texts: Sequence[str], kept: Sequence[bool]) -> Row:
    """Return a row with only some of its words.

    Args:
        row: the raw row.
        fields, texts: see `words`.
        kept: whether each word is kept.

    Example:
        >>> without_words({"text": "not a bad film"}, ["text"] * 4, ["not ", "a ", "bad ", "film"], [1, 1, 0, 1])
        {'text': 'not a film'}
    """
    joined = dict.fromkeys(fields, "")
    for field, text, is_kept in zip(fields, texts, kept, strict=True):
        joined[field] += text if is_kept else ""
    return {**row, **{field: text.strip() for field, text in joined.items()}}


def _batches(order: np.ndarray, sizes: np.ndarray, *, max_words: int | None) -> Iterator[np.ndarray]:
    """Divide indices, ordered by size, into batches of at most `max_words`, with padding."""
    start = 0
    while start < len(order):
        end = min(len(order), start + MAX_BATCH_ROWS)
        while max_words and end - start > 1 and (end - start) * sizes[order[end - 1]] > max_words:
            end = start + max(1, min(end - start - 1, int(max_words // sizes[order[end - 1]])))
        yield order[start:end]
        start = end


def _rounded(value: float) -> float:
    return float(f"{value:.6g}")
