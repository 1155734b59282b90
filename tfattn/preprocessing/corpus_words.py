"""Texts as the words that they are made of, for vectors of words: rare ones leave no trace."""

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
from tfattn.preprocessing.corpus_counts import Corpus, count, count_with_phrases
from tfattn.preprocessing.phrase_joins import Phrase
from tfattn.preprocessing.phrases import Phrases
from tfattn.preprocessing.preprocessor import Preprocessor
from tfattn.preprocessing.subwords import Subwords
from tfattn.preprocessing.unknown import LONGEST_VALUE, Unknown
from tfattn.preprocessing.word_characters import Rules
from tfattn.preprocessing.word_counts import most_frequent
from tfattn.preprocessing.word_division import Kind, Script, WordDivision
from tfattn.preprocessing.word_ids import WordIds
from tfattn.preprocessing.word_list import WordList
from tfattn.preprocessing.word_lookup import WordLookup

OnlyLetters = Annotated[bool, OnlyWith("division", values=("letters",))]

_SETTINGS = "settings.json"
_REMEDY = "Prepare the data again."


class Settings(TypedDict):
    """The content of settings.json."""

    division: Kind
    lower_case: bool
    ascii: bool
    script: Script | None
    stop_words: list[str]
    subwords: dict[str, int] | None


class CorpusWords(Preprocessor):
    """Words of texts, and how often each occurs in the training texts, for vectors of words.

    Words that are rare, unknown or stop words are dropped, as if they had not been written. All training rows are
    counted; of more than 10 million different words, rare ones are forgotten meanwhile.

    In the graph a row's text is one word or phrase, whose id is looked up.

    Args:
        division: `letters` takes runs of letters and marks, so apostrophes, digits and hyphens end a word; `blanks`
            takes all between blanks, for texts that are divided already; `jieba` finds the words within runs of letters
            by the package of that name, for Chinese.
        lower_case: whether case is folded, one character at a time.
        ascii: whether a to z are the only letters, as in text8; for the division `letters`.
        min_count: rarer words are dropped.
        vocabulary_size: the most words, of which the most frequent ones are kept; by default all.
        stop_words: a file of words that are dropped, one a line, UTF-8.
        phrases: how words that stand side by side are found to be one, such as new_york; by default none are.
        subwords: how words are divided into n-grams of characters, from which words that are unknown get their vectors;
            by default they are not.
        script: the Chinese script, `traditional` or `simplified`, into which texts are turned first, by the package
            OpenCC; a word that is looked up stays as it is.

    Raises:
        ConfigError: a package that Chinese needs is not installed.

    Example:
        preprocessor = CorpusWords(min_count=1)
        preprocessor.fit([{"text": "To be, or not to be."}])
        preprocessor.words  # ("be", "to", "not", "or")
        list(preprocessor.ids_of(["Be not!"]))  # [array([0, 2], dtype=int32)]
    """

    fields = (TEXT,)
    fits_on_all_rows = True

    def __init__(
        self,
        *,
        division: Kind = "letters",
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
        self._left_out: frozenset[str] = frozenset()
        self._list: WordList | None = None
        self._divide_by_settings()

    @property
    def words(self) -> tuple[str, ...]:
        """The words, the most frequent first: their places are their ids."""
        return self._fitted.words

    @property
    def counts(self) -> np.ndarray:
        """How often each occurs in the training rows, (V,) int64."""
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
            DataError: there are no words, or none that is frequent enough; or the file of stop words is missing.
        """
        self._left_out = frozenset(self._read_stop_words())
        texts = (row[TEXT] for row in rows)
        if self.phrases is None:
            found = count(texts, self.divided)
        else:
            options = {"min_count": self.min_count, "without": self._left_out}
            found = count_with_phrases(texts, self.divided, self.phrases, **options)
        words = most_frequent(found.counts, min_count=self.min_count, size=self.vocabulary_size, without=self._left_out)
        if not words:
            raise self._no_words(found)
        self._use(WordList.of(words), found.phrases)

    def save(self, folder: Path) -> None:
        """Write vocabulary.tsv, a word, a tab and its count in each line, phrases.tsv and settings.json."""
        self._fitted.write(Path(folder))
        phrase_joins.write(self.found_phrases, Path(folder))
        settings: Settings = {
            "division": self.division,
            "lower_case": self.lower_case,
            "ascii": self.ascii,
            "script": self.script,
            "stop_words": sorted(self._left_out),
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
        self._left_out = frozenset(settings["stop_words"])
        self._divide_by_settings()
        self._use(WordList.read(Path(folder)), phrase_joins.read(Path(folder)))

    def ids_of(self, texts: Iterable[str]) -> Iterator[np.ndarray]:
        """Yield the ids of the words of each text, (N,) int32, however long it is; not in a graph."""
        _ = self._fitted
        return self._ids.of(texts, self.divided)

    def lookup(self, words: tf.Tensor) -> tf.Tensor:
        """Look words up in the graph, however they are written: (B,) strings -> (B,) int32, -1 where unknown."""
        _ = self._fitted
        return self._table(words)

    def word_subwords(self) -> np.ndarray:
        """Return the numbers of the n-grams of all words: (V, M) int32, filled with -1, while a graph is traced too."""
        with tf.init_scope():
            return self.subword_ids(tf.constant(self.words, tf.string)).numpy()

    def subword_ids(self, words: tf.Tensor) -> tf.Tensor:
        """Return the numbers of n-grams of words in the graph, however written: (B,) strings -> (B, M) int32, or -1."""
        return self.subwords(self._table.spelled(words))

    def __call__(self, fields: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        """Look up words.

        Args:
            fields: `text` (B,), a word each, UTF-8.

        Returns:
            `word_ids` (B,) int32, -1 where one is unknown.
        """
        return {WORD_IDS: self.lookup(fields[TEXT])}

    def unknown(self, fields: dict[str, tf.Tensor]) -> dict[str, Unknown]:
        texts = (text.decode("utf-8", errors="replace") for text in tf.convert_to_tensor(fields[TEXT]).numpy())
        counts = Counter[str]()
        for text in texts:
            counts.update(self.divided(text))
        for word in self._left_out:
            counts.pop(word, None)
        values = Counter[str]()
        for word in counts:
            if word not in self._ids:
                values[word[:LONGEST_VALUE]] += counts[word]
        return {TEXT: Unknown(counts.total(), values.total(), values)}

    @property
    def unknown_remedy(self) -> str:
        return "Rare words are dropped: lower `min_count`, or raise `vocabulary_size`."

    @property
    def _fitted(self) -> WordList:
        if self._list is None:
            raise TfattnError("the words are not counted yet", remedy="Call `fit` or `load` first.")
        return self._list

    def _divide_by_settings(self) -> None:
        self._rules = Rules(self.division != "blanks", lower_case=self.lower_case, ascii=self.ascii)
        self.divided = WordDivision(self.division, self._rules, self.script)

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
        return self.divided.spelled(text)

    def _no_words(self, found: Corpus) -> DataError:
        left = most_frequent(found.counts, min_count=1, size=1, without=self._left_out)
        if not left:
            return DataError(
                "there are no words",
                expected="texts of words",
                received=f"{found.total:,} words, all of them stop words" if found.total else "texts without any",
                remedy="Check the source's `fields`, and what `division` takes for a word.",
            )
        [(word, count)] = left
        return DataError(
            "no word is frequent enough",
            expected=f"words that occur at least `min_count` {self.min_count} times",
            received=f"{found.total:,} words, the most frequent of which, {word!r}, occurs {count:,} times",
            remedy="Lower `preprocessing.min_count`, or take more texts.",
        )
