"""Statistics of inputs: missing and different values, quantiles of numbers, lengths of texts in words and tokens."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tfattn import hub
from tfattn.catalog import PRETRAINED_PACKAGES
from tfattn.config.schema import Config
from tfattn.data.split_config import TRAIN
from tfattn.formats.numbers import read, stripped
from tfattn.pretrained.packages import folder_of
from tfattn.profiling.raw_rows import Kind, RawRows
from tfattn.recipes.columns import count_words, detect_column

QUANTILES = (0.0, 0.25, 0.5, 0.75, 1.0)
IDENTIFIER_SHARE, MIN_IDENTIFIERS = 0.9, 20  # different values by rows, and their number
FREQUENT = 3  # values of a category that are named
BATCH = 1000  # texts that are tokenized together
_VOCABULARY_FILES = ("tokenizer.json", "vocab.txt")


@dataclass(frozen=True)
class Column:
    """The statistics of an input.

    Attributes:
        name: the column, or the role of a text.
        kind: how the pipeline reads it.
        detected: the kind that `tfattn init` detects in the values, such as "identifier" or "constant".
        reason: why.
        missing: (N,) bool, the rows without a value.
        unread: (N,) bool, rows whose value is neither a number nor missing, of a column of numbers.
        distinct: the number of different values that are not missing.
        quantiles: minimum, quartiles and maximum of numbers; of a text, of its length in words.
        frequent: the most frequent values and their numbers of rows.
    """

    name: str
    kind: Kind
    detected: str
    reason: str
    missing: np.ndarray
    unread: np.ndarray
    distinct: int
    quantiles: tuple[float, ...]
    frequent: dict[str, int]

    @property
    def is_identifier(self) -> bool:
        """Whether it identifies rows: nearly every row has another value, other than a measured number or a text."""
        most = max(MIN_IDENTIFIERS, IDENTIFIER_SHARE * np.count_nonzero(~self.missing))
        return self.detected == "identifier" or (self.kind == "category" and self.distinct > most)


@dataclass(frozen=True)
class Lengths:
    """The lengths of the texts of N rows.

    Attributes:
        unit: "tokens", if there is a vocabulary before the preparation, otherwise "words".
        lengths: (N,) int, of all texts of a row, with the special tokens of a row.
        max_length: the maximum number of tokens of a row.
        unknown: (N,) int, unknown tokens; words of validation and test rows that no training row has.
    """

    unit: str
    lengths: np.ndarray
    max_length: int | None
    unknown: np.ndarray

    @property
    def is_truncated(self) -> np.ndarray:
        """(N,) bool, whether a row is longer than `max_length`; in words a lower bound, as a word has tokens."""
        return self.lengths > (np.inf if self.max_length is None else self.max_length)


def describe(rows: RawRows) -> list[Column]:
    """Compute the statistics of all inputs."""
    return [_describe(name, kind, rows.columns[name], rows.data.markers) for name, kind in rows.data.inputs.items()]


def _describe(name: str, kind: Kind, cells: Sequence[str], markers: Sequence[str]) -> Column:
    values = [stripped(cell) for cell in cells]
    missing = np.array([value in markers for value in values] if kind != "text" else [not value for value in values])
    present = [value for value, is_missing in zip(values, missing, strict=True) if not is_missing]
    counts = Counter(present)
    unread = np.zeros(len(values), bool)
    if kind == "text":
        numbers: list[float] = [count_words(value) for value in values]
        return Column(name, kind, "text", "", missing, unread, len(counts), _quantiles(numbers), {})
    found = detect_column(name, present)
    if kind == "number":
        parsed = [read(value) for value in values]
        unread = np.array([number is None for number in parsed]) & ~missing
        numbers = [number for number, is_missing in zip(parsed, missing | unread, strict=True) if not is_missing]
        return Column(name, kind, found.kind, found.reason, missing, unread, len(counts), _quantiles(numbers), {})
    frequent = dict(counts.most_common(FREQUENT))
    return Column(name, kind, found.kind, found.reason, missing, unread, len(counts), (), frequent)


def _quantiles(numbers: Sequence[float]) -> tuple[float, ...]:
    return tuple(np.quantile(numbers, QUANTILES).tolist()) if numbers else ()


def measure_lengths(rows: RawRows, config: Config) -> Lengths | None:
    """Measure the lengths of rows of texts, in tokens if there is a vocabulary; None for a table.

    Raises:
        ConfigError: the published weights are not installed.
        HubError: the vocabulary is on a hub that cannot be reached.
    """
    texts = [rows.columns[name] for name, kind in rows.data.inputs.items() if kind == "text"]
    if not texts:
        return None
    preprocessing = config.values["data"]["preprocessing"]
    marks = len(texts) + 1
    tokenizer = _tokenizer(config, preprocessing)
    if tokenizer is None:
        lengths = np.sum([[count_words(text) for text in column] for column in texts], axis=0) + marks
        return Lengths("words", lengths, preprocessing.get("max_length"), _new_words(rows, texts))
    unknown_id = next((id for token in ("[UNK]", "<unk>") if (id := tokenizer.token_to_id(token)) is not None), -1)
    measured = np.zeros((2, len(rows)), np.int64)
    measured[0] += marks
    for column in texts:
        for begin in range(0, len(column), BATCH):
            encoded = tokenizer.encode_batch(column[begin : begin + BATCH], add_special_tokens=False)
            measured[0, begin : begin + BATCH] += [len(each.ids) for each in encoded]
            measured[1, begin : begin + BATCH] += [each.ids.count(unknown_id) for each in encoded]
    return Lengths("tokens", measured[0], preprocessing.get("max_length"), measured[1])


def _new_words(rows: RawRows, texts: Iterable[Sequence[str]]) -> np.ndarray:
    """Count the words of validation and test rows that no training row has: (N,)."""
    split = [[set(text.lower().split()) for text in column] for column in texts]
    known = {word for column in split for row in rows.splits.get(TRAIN, ()) for word in column[row]}
    counts = np.sum([[len(words - known) for words in column] for column in split], axis=0)
    return np.where(np.isin(np.arange(len(rows)), rows.splits.get(TRAIN, ())), 0, counts)


def _tokenizer(config: Config, preprocessing: dict[str, Any]) -> Any:
    """Return the tokenizer of an existing vocabulary, of the package tokenizers; None if there is none yet."""
    from tokenizers import BertWordPieceTokenizer, Tokenizer

    teacher = config.values.get("teacher") or {}
    pretrained = config.values["model"].get("pretrained") or teacher.get("pretrained")
    named = preprocessing.get(
        "vocabulary", "pretrained" if preprocessing["name"] == "pretrained_tokenizer" else "train"
    )
    if named == "train" or named == "pretrained" and pretrained is None:
        return None
    path = hub.local_path(named) if named != "pretrained" else _folder(pretrained)
    candidates = [path, *(path / name for name in _VOCABULARY_FILES)]
    file = next((each for each in candidates if each.is_file() and each.name.endswith((".json", ".txt"))), None)
    if file is None:
        return None
    if file.suffix == ".json":
        tokenizer = Tokenizer.from_file(str(file))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer
    lower_case = preprocessing.get("lower_case")
    if lower_case is None:
        lower_case = not any(line[:1].isupper() for line in file.read_text(encoding="utf-8").splitlines())
    return BertWordPieceTokenizer(str(file), lowercase=lower_case, strip_accents=preprocessing.get("strip_accents"))


def _folder(pretrained: str) -> Path:
    package = PRETRAINED_PACKAGES.get(pretrained)
    return hub.local_path(pretrained) if package is None else folder_of(package, name=pretrained)
