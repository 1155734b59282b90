"""Preprocessing of texts into words for word vectors; rare words are dropped."""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import numpy as np
import tensorflow as tf
from pydantic import PositiveInt
from typing_extensions import TypedDict

from tfattn import files
from tfattn.config.relations import OnlyWith
from tfattn.config.types import Section
from tfattn.errors import DataError, TfattnError
from tfattn.features import TEXT, WORD_IDS
from tfattn.preprocessing import phrase_joins
from tfattn.preprocessing.corpus import Corpus, WordIds, count, count_with_phrases
from tfattn.preprocessing.phrase_joins import Phrase
from tfattn.preprocessing.phrases import Phrases
from tfattn.preprocessing.preprocessor import Preprocessor
from tfattn.preprocessing.subwords import Subwords
from tfattn.preprocessing.unknown import MAX_VALUE_LENGTH, Unknown
from tfattn.preprocessing.word_characters import Rules, WordLookup
from tfattn.preprocessing.word_counts import most_frequent
from tfattn.preprocessing.word_list import WordList
from tfattn.preprocessing.word_segmentation import Division, Script, WordSegmenter

OnlyLetters = Annotated[bool, OnlyWith("division", values=("letters",))]

_SETTINGS = "settings.json"
_REMEDY = "Prepare the data again."


class Settings(TypedDict):
    """The content of settings.json."""

    division: Division
    lower_case: bool
    ascii: bool
    script: Script | None
    stop_words: list[str]
    subwords: dict[str, int] | None


class CorpusWords(Preprocessor):
    """Words of texts with their counts in the training texts, for word vectors.

    Rare words, unknown words and stop words are removed from texts. All training rows are counted; above 10 million
    distinct words, rare words are pruned while counting.

    In the graph, the text of a row is a single word or phrase, and the call returns its id.

    Args:
        division: `letters` makes a word of each run of letters and marks, so apostrophes, digits and hyphens end words;
            `blanks` splits at blanks, for texts that are tokenized already; `jieba` segments runs of letters with the
            package jieba, for Chinese.
        lower_case: whether case is folded, one character at a time.
        ascii: whether a to z are the only letters, as in text8; for the division `letters`.
        min_count: the lowest count of a word; rarer words are dropped.
        vocabulary_size: the maximum number of words; the most frequent words are kept. By default all.
        stop_words: a UTF-8 file of words to drop, one per line.
        phrases: the search for phrases such as new_york; by default there is none.
        subwords: the character n-grams from which unknown words get their vectors; by default there are none.
        script: the Chinese script, `traditional` or `simplified`, into which texts are converted first, by the
            package OpenCC; words that are looked up are not converted.

    Raises:
        ConfigError: a package for Chinese is not installed.

    Example:
        preprocessor = CorpusWords(min_count=1)
        preprocessor.fit([{"text": "To be, or not to be."}])
        preprocessor.words  # ("be", "to", "not", "or")
        list(preprocessor.encode(["Be not!"]))  # [array([0, 2], dtype=int32)]
    """

    fields = (TEXT,)
    fits_on_all_rows = True

    def __init__(
        self,
        *,
        division: Division = "letters",
        lower_case: bool = True,
        ascii: OnlyLetters = False,
        min_count: PositiveInt = 5,
        vocabulary_size: PositiveInt | None = None,
        stop_words: str | None = None,
        phrases: Section("phrases") | None = None,
        subwords: Section("subwords") | None = None,
        script: Script | None = None,
    ):
        super().__init__()
        self.division = division
        self.lower_case = lower_case
        self.ascii = ascii
        self.min_count = min_count
        self.vocabulary_size = vocabulary_size
        self.stop_words = stop_words
        self.phrases: Phrases | None = phrases
        self.subwords: Subwords | None = subwords
        self.script = script
        self._excluded: frozenset[str] = frozenset()
        self._list: WordList | None = None
        self._make_segmenter()

    @property
    def words(self) -> tuple[str, ...]:
        """The words, the most frequent first; the index of a word is its id."""
        return self._fitted.words

    @property
    def counts(self) -> np.ndarray:
        """The count of each word in the training rows, (V,) int64."""
        return self._fitted.counts

    @property
    def sizes(self) -> dict[str, int]:
        words = len(self._list.words) if self._list else self.vocabulary_size or 1
        return {"vocabulary_size": words, "subword_buckets": self.subwords.buckets if self.subwords else 0}

    @property
    def files(self) -> list[Path]:
        return [Path(self.stop_words)] if self.stop_words else []

    def fit(self, rows: Iterable[dict[str, str]]) -> None:
        """Count the words of the rows.

        Raises:
            DataError: there are no words, no word is frequent enough, or the file of stop words is missing.
        """
        self._excluded = frozenset(self._read_stop_words())
        texts = (row[TEXT] for row in rows)
        if self.phrases is None:
            found = count(texts, self.segment)
        else:
            options = {"min_count": self.min_count, "without": self._excluded}
            found = count_with_phrases(texts, self.segment, self.phrases, **options)
        words = most_frequent(found.counts, min_count=self.min_count, size=self.vocabulary_size, without=self._excluded)
        if not words:
            raise self._no_words(found)
        self._use(WordList.from_counts(words), found.phrases)

    def save(self, folder: Path) -> None:
        """Write vocabulary.tsv, with a word, a tab and its count per line, phrases.tsv and settings.json."""
        self._fitted.write(Path(folder))
        phrase_joins.write(self.found_phrases, Path(folder))
        settings: Settings = {
            "division": self.division,
            "lower_case": self.lower_case,
            "ascii": self.ascii,
            "script": self.script,
            "stop_words": sorted(self._excluded),
            "subwords": self.subwords.settings if self.subwords else None,
        }
        files.write_json(Path(folder) / _SETTINGS, settings)

    def load(self, folder: Path) -> None:
        """Read what `save` wrote.

        Raises:
            DataError: a file is missing or damaged; names it.
        """
        settings = files.read_json(Path(folder) / _SETTINGS, Settings, remedy=_REMEDY)
        self.division, self.lower_case = settings["division"], settings["lower_case"]
        self.ascii, self.script = settings["ascii"], settings["script"]
        self.subwords = Subwords(**settings["subwords"]) if settings["subwords"] else None
        self._excluded = frozenset(settings["stop_words"])
        self._make_segmenter()
        self._use(WordList.read(Path(folder)), phrase_joins.read(Path(folder)))

    def encode(self, texts: Iterable[str]) -> Iterator[np.ndarray]:
        """Yield the ids of the words of each text, (N,) int32, for texts of any length; runs eagerly."""
        _ = self._fitted
        return self._ids.encode(texts, self.segment)

    def lookup(self, words: tf.Tensor) -> tf.Tensor:
        """Look words up in the graph after normalization: (B,) strings -> (B,) int32, -1 if unknown."""
        _ = self._fitted
        return self._table(words)

    def word_subwords(self) -> np.ndarray:
        """Return the n-gram ids of all words: (V, M) int32, padded with -1; also works while a graph is traced."""
        with tf.init_scope():
            return self.subword_ids(tf.constant(self.words, tf.string)).numpy()

    def subword_ids(self, words: tf.Tensor) -> tf.Tensor:
        """Return the n-gram ids of words, in the graph: (B,) strings -> (B, M) int32, padded with -1."""
        return self.subwords(self._table.normalize(words))

    def __call__(self, fields: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        """Look up words.

        Args:
            fields: `text` (B,), a word per row, UTF-8.

        Returns:
            `word_ids` (B,) int32, -1 for unknown words.
        """
        return {WORD_IDS: self.lookup(fields[TEXT])}

    def unknown(self, fields: dict[str, tf.Tensor]) -> dict[str, Unknown]:
        texts = (text.decode("utf-8", errors="replace") for text in tf.convert_to_tensor(fields[TEXT]).numpy())
        counts = Counter[str]()
        for text in texts:
            counts.update(self.segment(text))
        for word in self._excluded:
            counts.pop(word, None)
        values = Counter[str]()
        for word in counts:
            if word not in self._ids:
                values[word[:MAX_VALUE_LENGTH]] += counts[word]
        return {TEXT: Unknown(counts.total(), values.total(), values)}

    @property
    def unknown_remedy(self) -> str:
        return "Rare words are dropped: lower `min_count`, or raise `vocabulary_size`."

    @property
    def _fitted(self) -> WordList:
        if self._list is None:
            raise TfattnError("the words are not counted yet", remedy="Call `fit` or `load` first.")
        return self._list

    def _make_segmenter(self) -> None:
        self._rules = Rules(self.division != "blanks", lower_case=self.lower_case, ascii=self.ascii)
        self.segment = WordSegmenter(self.division, self._rules, self.script)

    def _use(self, words: WordList, phrases: list[Phrase]) -> None:
        self._list = words
        self.found_phrases = tuple(phrases)
        self._ids = WordIds(words.words, phrases)
        self._table = WordLookup(words.words, self._rules)

    def _read_stop_words(self) -> list[str]:
        if not self.stop_words:
            return []
        remedy = "Check `preprocessing.stop_words`."
        try:
            text = files.read_bytes(self.stop_words, remedy=remedy).decode()
        except UnicodeDecodeError:
            raise DataError("the stop words are not UTF-8", where=self.stop_words, remedy=remedy) from None
        return self.segment.split_at_blanks(text)

    def _no_words(self, found: Corpus) -> DataError:
        left = most_frequent(found.counts, min_count=1, size=1, without=self._excluded)
        if not left:
            return DataError(
                "there are no words",
                expected="texts of words",
                received=f"{found.total:,} words, all of them stop words" if found.total else "texts without words",
                remedy="Check the source's `fields`, and the `division` into words.",
            )
        [(word, count)] = left
        return DataError(
            "no word is frequent enough",
            expected=f"words that occur at least `min_count` {self.min_count} times",
            received=f"{found.total:,} words; the most frequent word, {word!r}, occurs {count:,} times",
            remedy="Lower `preprocessing.min_count`, or use more texts.",
        )
