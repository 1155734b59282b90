"""Word tokenization with a word id and character ids of each word, for ELMo and similar models."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import tensorflow as tf
from pydantic import PositiveInt

from tfattn import files
from tfattn.errors import DataError, TfattnError
from tfattn.features import (
    CHARACTER_IDS,
    ENDS,
    EXAMPLE_ROWS,
    MAX_CONTEXT,
    SEGMENT_IDS,
    STARTS,
    TEXT,
    TOKEN_IDS,
    WORD_NUMBERS,
)
from tfattn.preprocessing import spelling
from tfattn.preprocessing.characters import Characters
from tfattn.preprocessing.code_points import Reference, check_reference, describe_reference
from tfattn.preprocessing.passages import batch_passages, count_strings
from tfattn.preprocessing.segments import Layout, SequenceSettings, TextSequences
from tfattn.preprocessing.spelling import END, START, UNKNOWN
from tfattn.preprocessing.unknown import Unknown
from tfattn.preprocessing.words import Words, split, word_spans

SPECIAL = (START, END, UNKNOWN)
_VOCABULARY = "vocab.json"
_SETTINGS = "tokenizer_config.json"


class Settings(SequenceSettings, Reference):
    """The content of tokenizer_config.json."""

    tokenizer_class: str
    do_lower_case: bool


class SpelledWords(TextSequences):
    """Word tokenizer of a text or a pair of texts, in the graph, with word ids and character ids.

    Words are split at spaces and punctuation, as for BERT, and keep their case. Sequences are
    <S> text </S>, or <S> first </S> <S> second </S> with segment 1 from the second <S>. An unlisted word has the
    id of <UNK> and its own character ids. Invalid UTF-8 is read as U+FFFD, and so is dropped.

    Args:
        vocabulary_size: the maximum number of words, <S>, </S> and <UNK> included; the most frequent words are kept. By
            default all words of the training rows.
        lower_case: whether to fold case.
        max_length: the maximum sequence length in words, marks included. The longer text of a pair is cut first.
        doc_stride: read a long text in windows that start this many words apart. By default long texts are cut.
        fields: the names of one text field or two.

    Raises:
        ConfigError: there are no fields or more than two, or max_length leaves no room for text.

    Example:
        words = SpelledWords()
        words.fit([{"text": "To be or not to be"}])
        words({"text": tf.constant(["To bee"])})["character_ids"].shape  # ragged (1, (T), 50): <S>, To, bee, </S>

    Source: Peters et al. 2018, "Deep contextualized word representations", section 3.3; characters as published.
    """

    spells = True

    def __init__(
        self,
        *,
        vocabulary_size: PositiveInt | None = None,
        lower_case: bool = False,
        max_length: PositiveInt = 128,
        doc_stride: PositiveInt | None = None,
        fields: tuple[str, ...] = (TEXT,),
    ):
        super().__init__(
            fields, max_length=max_length, doc_stride=doc_stride, num_marks=2 * len(fields), marks="<S> and </S>"
        )
        self.vocabulary_size = vocabulary_size
        self.lower_case = lower_case
        self._words: list[str] | None = None

    def fit(self, rows: Iterable[dict[str, str]]) -> None:
        """List the words of the rows, the most frequent first.

        Raises:
            DataError: there are no words.
        """
        self._characters = Characters(lower_case=self.lower_case, strip_accents=False)
        texts = (row[name] for row in rows for name in self.fields)
        counts = count_strings(texts, lambda batch: _strings(split(batch, self._characters)))
        found = [word.decode() for word in sorted(counts, key=lambda word: (-counts[word], word))]
        if not found:
            raise DataError(
                "there are no words to list",
                expected="texts",
                received="none, or only empty ones",
                remedy="Check the source's `fields`.",
            )
        room = None if self.vocabulary_size is None else max(self.vocabulary_size - len(SPECIAL), 0)
        self._use([*SPECIAL, *found[:room]])

    def save(self, folder: Path) -> None:
        """Write vocab.json, with the id of each word, and tokenizer_config.json."""
        files.write_json(Path(folder) / _VOCABULARY, {word: number for number, word in enumerate(self._fitted)})
        settings: Settings = {
            "tokenizer_class": type(self).__name__,
            "do_lower_case": self.lower_case,
            **self.sequence_settings,
            **describe_reference(self._characters.fingerprint),
        }
        files.write_json(Path(folder) / _SETTINGS, settings)

    def load(self, folder: Path) -> None:
        """Read what `save` wrote; the saved settings replace the arguments of the constructor.

        Raises:
            DataError: a file is missing or damaged, or the installed `tokenizers` treats characters differently.
        """
        remedy = "Prepare the data again."
        settings = files.read_json(Path(folder) / _SETTINGS, Settings, remedy=remedy)
        ids = files.read_json(Path(folder) / _VOCABULARY, dict[str, int], remedy=remedy)
        self.lower_case, self.sequence_settings = settings["do_lower_case"], settings
        self._characters = Characters(lower_case=self.lower_case, strip_accents=False)
        check_reference(settings, self._characters.fingerprint, where=str(Path(folder) / _SETTINGS))
        self._use(sorted(ids, key=ids.__getitem__))

    @property
    def sizes(self) -> dict[str, int]:
        return {"vocabulary_size": len(self._words) if self._words else self.vocabulary_size or len(SPECIAL)}

    @property
    def tokens(self) -> list[str]:
        """The words, in the order of their ids."""
        return list(self._fitted)

    @property
    def spellings(self) -> np.ndarray:
        """The character ids of each word, in the order of the word ids: (V, 50) int32."""
        return np.concatenate(
            [np.array(spelling.spell_boundaries(), np.int32), spelling.spell_eagerly(self._fitted[2:])]
        )

    def sentences(self, texts: Iterable[str]) -> Iterator[np.ndarray]:
        """Yield the ids of each text between its marks, (T,) int32, for texts of any length; runs eagerly."""
        _ = self._fitted
        parts: list[np.ndarray] = []
        current = 0
        start, end = (np.array([mark], np.int32) for mark in self._marks)
        for batch in batch_passages(texts):
            found = _strings(self._split(tf.constant(batch.passages)))
            ids = self._table.lookup(found.values).numpy()
            for number, part in zip(batch.texts, np.split(ids, found.row_splits.numpy()[1:-1]), strict=True):
                if number > current:
                    yield np.concatenate([start, *parts, end])
                    parts, current = [], number
                parts.append(part)
        if parts:
            yield np.concatenate([start, *parts, end])

    def __call__(self, fields: dict[str, tf.Tensor]) -> dict[str, tf.RaggedTensor]:
        """Tokenize texts.

        Args:
            fields: the texts (B,), UTF-8, of each name of `self.fields`.

        Returns:
            `token_ids` and `segment_ids`, ragged (B, (T)) int32, and `character_ids`, ragged (B, (T), 50) int32; with a
            doc_stride (E, (T)) for E windows, and `example_rows` (E,) int64. After `locate`, also the positions of
            words in the last text, of the same shape: `word_numbers`, `starts`, `ends`, `max_context`.
        """
        _ = self._fitted
        words = [self._split(fields[name]) for name in self.fields]
        strings = tf.concat([_strings(each).values for each in words], 0)
        # Pools have the values of all words, the start and the end; sequences gather from them.
        pools = {
            TOKEN_IDS: tf.concat([self._table.lookup(strings), self._marks], 0),
            CHARACTER_IDS: tf.concat([spelling.spell(strings), spelling.spell_boundaries()], 0),
            **self._locations(words),
        }
        layout, texts = self._arranged(words)
        count = tf.size(strings)
        indices = layout.fill([text.values for text in texts], [count, count + 1, count + 1])
        segments = [tf.fill(tf.shape(text.values), number) for number, text in enumerate(texts)]
        return {
            **{name: indices.with_values(tf.gather(pool, indices.values)) for name, pool in pools.items()},
            SEGMENT_IDS: layout.fill(segments, [0, 0, 1]),
            **({} if self.doc_stride is None else {EXAMPLE_ROWS: layout.rows}),
            **({} if self.located is None else {MAX_CONTEXT: layout.max_context()}),
        }

    def words(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Return the words of texts (B,) as strings, ragged (B, (T))."""
        return _strings(self._split(texts))

    def truncated(self, fields: dict[str, tf.Tensor]) -> tf.Tensor:
        """Find rows that are longer than max_length: (B,) bool."""
        return self._arranged([self._split(fields[name]) for name in self.fields])[0].is_cut

    def unknown(self, fields: dict[str, tf.Tensor]) -> dict[str, Unknown]:
        """Count the words, and the <UNK> words."""
        found = {}
        for name in self.fields:
            words = _strings(self._split(fields[name])).values
            is_unknown = self._table.lookup(words) == SPECIAL.index(UNKNOWN)
            found[name] = Unknown.of(tf.size(words), words[is_unknown].numpy())
        return found

    @property
    def unknown_remedy(self) -> str:
        return "Raise `vocabulary_size`, or use a model that reads characters, for which no word is unknown."

    @property
    def _fitted(self) -> list[str]:
        if self._words is None:
            raise TfattnError("the words are not listed yet", remedy="Call `fit` or `load` first.")
        return self._words

    def _use(self, words: list[str]) -> None:
        self._words = words
        listed = words[len(SPECIAL) :]  # texts have no marks
        numbers = range(len(SPECIAL), len(words))
        entries = tf.lookup.KeyValueTensorInitializer(listed, list(numbers), tf.string, tf.int32)
        self._table = tf.lookup.StaticHashTable(entries, SPECIAL.index(UNKNOWN))
        self._marks = [SPECIAL.index(START), SPECIAL.index(END)]

    def _split(self, texts: tf.Tensor) -> Words:
        _ = self._fitted
        return split(texts, self._characters)

    def _locations(self, words: Sequence[Words]) -> dict[str, tf.Tensor]:
        """Return the positions of the words in the last text, as pools."""
        if self.located is None:
            return {}
        names = (WORD_NUMBERS, STARTS, ENDS) if self.located == "words" else (STARTS, ENDS)
        others = sum((each.row_splits[-1:] for each in words[:-1]), tf.zeros(1, tf.int64))
        found = zip(names, word_spans(words[-1])[-len(names) :], strict=True)
        return {name: tf.concat([tf.zeros(others, tf.int32), values, [0, 0]], 0) for name, values in found}

    def _arranged(self, words: Sequence[Words]) -> tuple[Layout, list[tf.RaggedTensor]]:
        """Return the layout, and for each text, ragged (B, (T)), the indices of its words in the pools.

        The second text starts with <S>, whose index is after all words; the layout adds <S> to the first text.
        """
        sizes = [tf.cast(each.row_splits[-1], tf.int32) for each in words]
        texts, start = [], 0
        for each, size in zip(words, sizes, strict=True):
            texts.append(
                tf.RaggedTensor.from_row_splits(tf.range(start, start + size), each.row_splits, validate=False)
            )
            start += size
        if len(texts) == 2:
            starts = tf.fill([texts[1].nrows(tf.int32), 1], start)
            texts[1] = tf.concat([starts, texts[1]], axis=1)
        return self.layout(texts), texts


def _strings(words: Words) -> tf.RaggedTensor:
    """Encode words as strings, ragged (B, (T))."""
    strings = tf.strings.unicode_encode(words.characters, "UTF-8")
    return tf.RaggedTensor.from_row_splits(strings, words.row_splits, validate=False)
