"""WordPiece tokenization, as in BERT."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import tensorflow as tf
from pydantic import PositiveInt

from tfattn.config.relations import OnlyWith
from tfattn.errors import ConfigError, TfattnError
from tfattn.features import ENDS, EXAMPLE_ROWS, MAX_CONTEXT, SEGMENT_IDS, STARTS, TEXT, TOKEN_IDS, WORD_NUMBERS
from tfattn.preprocessing import wordpiece_files
from tfattn.preprocessing.pieces import Pieces
from tfattn.preprocessing.preprocessor import PRETRAINED, TRAIN, Located, Preprocessor
from tfattn.preprocessing.segments import Layout, check_limits
from tfattn.preprocessing.several_texts import SeveralTexts
from tfattn.preprocessing.unknown import Unknown
from tfattn.preprocessing.vocabulary import END, START, Vocabulary


class WordPiece(Preprocessor):
    """BERT's tokenizer of a text or a pair of texts, in the graph.

    Sequences are [CLS] text [SEP], or [CLS] first [SEP] second [SEP] with segment 1 after the first [SEP]; an empty
    text has no pieces. Special tokens are not parsed in texts: `[MASK]` there is three words. Invalid UTF-8
    is read as U+FFFD, as with Python's `errors="replace"`, and so is dropped. If the last field is a list of texts,
    (B, N), each text makes a sequence with the first field; empty texts are padding.

    Ids, segments, offsets and truncation are equal to those of the reference, `BertWordPieceTokenizer` of the
    `tokenizers` package, and so to `BertTokenizerFast` of transformers, with one difference if strip_accents is set:
    the reference puts the marks of a letter into canonical order before it drops most of them. Those that it keeps are
    U+08D4-08E1 1B44 1BAA 1BF2-1BF3 1DFB 302E-302F A953 A9C0 111C0 11235 1134D 11442 11446 116B6 11C3F 1D165-1D166
    1D16D-1D172 1E000-1E006 1E008-1E018 1E01B-1E021 1E023-1E024 1E026-1E02A 1E944-1E94A, and those in the musical notes
    1D15E-1D164 1D1BB-1D1C0. If such a mark is next to another mark, not in canonical order, this tokenizer keeps the
    order of the text; the reference sorts the marks and swaps their offsets. The vocabularies of BERT (uncased, cased,
    Chinese) have none of these marks: a word with such a mark is [UNK] in both.

    The table of characters is that of `tokenizers`, not of Google's tokenization.py, which uses the Unicode
    tables of Python. They differ in rare characters: `tokenizers` drops private-use characters (U+E000-F8FF and planes
    15 and 16), which Google's keeps; and its Unicode version is older, so that some 100 punctuation marks (such as
    U+061D, U+0C77 and U+2E55-2E5D) do not separate words, some 380 combining marks (such as
    U+07FD and U+0898-089F) are kept with strip_accents, and 13 format characters are kept.

    Args:
        vocabulary: `train` to train it on the training rows, `pretrained` to use the vocabulary of the pretrained
            weights, or the path of a vocab.txt.
        vocabulary_size: the maximum number of tokens of a trained vocabulary.
        lower_case: whether to fold case; by default as the pretrained model does; without it, if the vocabulary has no
            capitals.
        strip_accents: whether to drop accents; by default as the pretrained model does; without it, as lower_case.
        max_length: the maximum sequence length in tokens, [CLS] and [SEP]s included. The longer text of a pair is cut
            first.
        doc_stride: read a long text in windows that start this many tokens apart. Each window has the first text of a
            pair, cut to half of the sequence. The prediction of a text is the mean over its windows; metrics during
            training count windows. By default long texts are cut.
        max_query_length: the maximum length of the first text of a pair in windows, such as a question. By default half
            of the sequence.
        fields: the names of one text field or two.

    Raises:
        ConfigError: there are no fields or more than two, or max_length leaves no room for text.

    Example:
        tokenizer = WordPiece(vocabulary="vocab.txt", max_length=64)
        tokenizer.fit([])
        tokenizer({"text": tf.constant(["Sorter blows fuses."])})["token_ids"]  # ragged (1, (T)) int32
    """

    def __init__(
        self,
        *,
        vocabulary: str = TRAIN,
        vocabulary_size: PositiveInt = 8000,
        lower_case: bool | None = None,
        strip_accents: bool | None = None,
        max_length: PositiveInt = 128,
        doc_stride: PositiveInt | None = None,
        max_query_length: Annotated[PositiveInt | None, OnlyWith("doc_stride")] = None,
        fields: tuple[str, ...] = (TEXT,),
    ):
        super().__init__()
        check_limits(
            fields,
            max_length=max_length,
            doc_stride=doc_stride,
            max_query_length=max_query_length,
            num_marks=len(fields) + 1,
            marks="[CLS] and [SEP]s",
        )
        self.vocabulary = vocabulary
        self.vocabulary_size = vocabulary_size
        self.lower_case = lower_case
        self.strip_accents = strip_accents
        self.max_length = max_length
        self.doc_stride = doc_stride
        self.max_query_length = max_query_length
        self.located: Located | None = None
        self.fields = fields
        self._adopted: tuple[bool | None, bool | None] | None = None
        self._pieces: Pieces | None = None

    def fit(self, rows: Iterable[dict[str, str]]) -> None:
        """Read the vocabulary, or train it on the rows.

        Raises:
            ConfigError: the vocabulary is still `pretrained`, or a row lacks a field.
            DataError: vocab.txt is missing or damaged, or there are no words to train on.
        """
        self.check_adopted()
        if self.vocabulary == TRAIN:
            lower_case, strip_accents = self._folding(default=True)
            known = Vocabulary.train(
                self._texts(rows), size=self.vocabulary_size, lower_case=lower_case, strip_accents=strip_accents
            )
        else:
            known = Vocabulary.read(self.vocabulary)
            lower_case, strip_accents = self._folding(default=not known.has_capitals)
        self._pieces = Pieces(known, lower_case=lower_case, strip_accents=strip_accents)

    def save(self, folder: Path) -> None:
        """Write vocab.txt and tokenizer_config.json, the file names of transformers."""
        sequences: wordpiece_files.Sequences = {
            "model_max_length": self.max_length,
            "doc_stride": self.doc_stride,
            **({} if self.max_query_length is None else {"max_query_length": self.max_query_length}),
            **({} if self.located is None else {"located": self.located}),
            "fields": list(self.fields),
        }
        wordpiece_files.write(folder, self._fitted, sequences)

    def load(self, folder: Path) -> None:
        """Read what `save` wrote; the saved settings replace the arguments of the constructor.

        Raises:
            DataError: a file is missing or damaged, or the installed `tokenizers` treats characters differently from
                the one that was installed when the folder was saved.
        """
        self._pieces, sequences = wordpiece_files.read(folder)
        self.lower_case, self.strip_accents = self._pieces.lower_case, self._pieces.strip_accents
        self.max_length = sequences["model_max_length"]
        self.doc_stride = sequences["doc_stride"]
        self.max_query_length = sequences.get("max_query_length")
        self.located = sequences.get("located")
        self.fields = tuple(sequences["fields"])

    @property
    def needs_pretrained(self) -> bool:
        return self.vocabulary == PRETRAINED

    def adopt(self, *, vocabulary: Path, lower_case: bool | None, strip_accents: bool | None) -> None:
        """Adopt the vocabulary and the normalization of published weights.

        Args:
            vocabulary: the path of vocab.txt.
            lower_case: whether to fold case; None if unknown.
            strip_accents: whether to drop accents; None for the same as `lower_case`.
        """
        self.vocabulary, self._adopted = str(vocabulary), (lower_case, strip_accents)
        if self.lower_case is None:  # settings of the user replace the published settings
            self.lower_case = lower_case
            self.strip_accents = strip_accents if self.strip_accents is None else self.strip_accents

    @property
    def adopted(self) -> dict[str, str]:
        if self._adopted is None:
            return {}
        lower_case, strip_accents = self._adopted
        is_usual = strip_accents in (None, lower_case)  # other values are stated
        return {"lower_case": str(lower_case), **({} if is_usual else {"strip_accents": str(strip_accents)})}

    def locate(self, what: Located) -> None:
        self.located = what

    @property
    def files(self) -> list[Path]:
        return [] if self.vocabulary in (TRAIN, PRETRAINED) else [Path(self.vocabulary)]

    @property
    def sizes(self) -> dict[str, int]:
        return {"vocabulary_size": len(self.tokens) if self._pieces else self.vocabulary_size}

    @property
    def max_tokens(self) -> int | None:
        return self.max_length if self.doc_stride is None else None

    @property
    def tokens(self) -> list[str]:
        """The tokens of the vocabulary, in the order of their ids."""
        return list(self._fitted.vocabulary.tokens)

    @property
    def pieces(self) -> Pieces:
        """The splitting of texts into word pieces."""
        return self._fitted

    def with_pieces(self, pieces: Any) -> "WordPiece":
        """Return a copy with another splitting of texts, and without windows.

        Args:
            pieces: has `ids` and `vocabulary` as `Pieces` has, with the same vocabulary.
        """
        other = WordPiece(max_length=self.max_length, fields=self.fields)
        other.lower_case, other.strip_accents, other._pieces = self.lower_case, self.strip_accents, pieces
        return other

    def __call__(self, fields: dict[str, tf.Tensor]) -> dict[str, tf.RaggedTensor]:
        """Tokenize texts.

        Args:
            fields: the texts (B,), UTF-8, of each name of `self.fields`; the last may be lists of texts (B, N).

        Returns:
            `token_ids` and `segment_ids`, each ragged (B, (T)) int32; (B, (N), (T)) for lists of texts; with a
            doc_stride (E, (T)) for E windows, and `example_rows` (E,) int64. After `locate`, also the positions of
            tokens in the last text, of the same shape, int32: `starts`, `ends` and `max_context`, and for words
            `word_numbers`.
        """
        vocabulary = self._fitted.vocabulary
        if several := self._several(fields):
            return {name: several.regroup(values) for name, values in self(several.flatten(fields)).items()}
        texts = self._ids(fields)
        layout = self._layout(texts)
        start, end = vocabulary.id(START), vocabulary.id(END)
        segments = [tf.fill(tf.shape(text.values), number) for number, text in enumerate(texts)]
        windows = {} if self.doc_stride is None else {EXAMPLE_ROWS: layout.rows}
        return {
            TOKEN_IDS: layout.fill([text.values for text in texts], [start, end, end]),
            SEGMENT_IDS: layout.fill(segments, [0, 0, 1]),
            **windows,
            **self._locations(fields, texts, layout),
        }

    def truncated(self, fields: dict[str, tf.Tensor]) -> tf.Tensor:
        """Find rows that are longer than max_length: (B,) bool."""
        if several := self._several(fields):
            return several.any(self.truncated(several.flatten(fields)))
        return self._layout(self._ids(fields)).is_cut

    def unknown(self, fields: dict[str, tf.Tensor]) -> dict[str, Unknown]:
        """Count the pieces of the untruncated texts, and the [UNK] words."""
        found = {name: self._fitted.unknown(tf.reshape(fields[name], [-1])) for name in self.fields}
        return {name: Unknown.of(pieces, words.numpy()) for name, (pieces, words) in found.items()}

    @property
    def unknown_remedy(self) -> str:
        if self.vocabulary == TRAIN:
            return (
                "Raise `vocabulary_size`, if it leaves no room for their characters, or train on texts that have them."
            )
        return "Take a vocabulary of this language, with its pretrained weights, or let `vocabulary: train` learn one."

    def offsets(self, fields: dict[str, tf.Tensor]) -> tuple[tf.RaggedTensor, tf.RaggedTensor]:
        """Return the character offsets of the tokens of `self(fields)`.

        Returns:
            the start and the end of each token, the end excluded, ragged as the tokens, int32, in code points of the
            original text; 0 and 0 for [CLS] and [SEP]. Dropped characters within a token are included, but not at its
            ends.
        """
        spans = [self._fitted.spans(fields[name]) for name in self.fields]
        layout = self._layout([starts for starts, _ in spans])
        starts, ends = (layout.fill([side.values for side in sides], [0, 0, 0]) for sides in zip(*spans, strict=True))
        return starts, ends

    def _locations(
        self, fields: dict[str, tf.Tensor], texts: list[tf.RaggedTensor], layout: Layout
    ) -> dict[str, tf.RaggedTensor]:
        """Return the positions of the tokens in the last text."""
        if self.located is None:
            return {}
        names, find = {
            "words": ((WORD_NUMBERS, STARTS, ENDS), self._fitted.words),
            "pieces": ((STARTS, ENDS), self._fitted.spans),
        }[self.located]
        others = [tf.zeros_like(text.values) for text in texts[:-1]]
        found = zip(names, find(fields[self.fields[-1]]), strict=True)
        locations = {name: layout.fill([*others, values.values], [0, 0, 0]) for name, values in found}
        return locations | {MAX_CONTEXT: layout.max_context()}

    @property
    def _fitted(self) -> Pieces:
        if self._pieces is None:
            raise TfattnError("the tokenizer has no vocabulary yet", remedy="Call `fit` or `load` first.")
        return self._pieces

    def _several(self, fields: dict[str, tf.Tensor]) -> SeveralTexts | None:
        last = fields[self.fields[-1]]
        return SeveralTexts(last) if last.shape.rank == 2 else None

    def _ids(self, fields: dict[str, tf.Tensor]) -> list[tf.RaggedTensor]:
        return [self._fitted.ids(fields[name]) for name in self.fields]

    def _layout(self, texts: list[tf.RaggedTensor]) -> Layout:
        return Layout(
            texts, max_length=self.max_length, doc_stride=self.doc_stride, max_query_length=self.max_query_length
        )

    def _folding(self, *, default: bool) -> tuple[bool, bool]:
        lower_case = default if self.lower_case is None else self.lower_case
        return lower_case, lower_case if self.strip_accents is None else self.strip_accents

    def _texts(self, rows: Iterable[dict[str, str]]) -> Iterator[str]:
        for row in rows:
            for name in self.fields:
                if name not in row:
                    raise ConfigError(
                        "the rows have no such field", key="fields", expected=f"some of {', '.join(row)}", received=name
                    )
                yield from [row[name]] if isinstance(row[name], str) else row[name]
