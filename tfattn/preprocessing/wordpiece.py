"""WordPiece tokenization, as BERT's."""

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
    """BERT's tokens of one text or a pair of texts, in the graph.

    Sequences are [CLS] text [SEP], or [CLS] first [SEP] second [SEP] with segment 1 after the first [SEP]; an empty
    text has no pieces. Special tokens are not parsed in texts: `[MASK]` there is three words. A byte sequence that is
    not UTF-8 counts as U+FFFD, as with Python's `errors="replace"`, and so is dropped. Where the second text
    of a row is several, (B, N), each makes a sequence with the first, but an empty one, which is none.

    Ids, segments, offsets and truncation are equal to those of the reference, `BertWordPieceTokenizer` of the
    `tokenizers` package, and so to `BertTokenizerFast` of transformers, with one difference if strip_accents is set:
    the reference puts the marks of a letter into canonical order before it drops most of them. Those that it keeps are
    U+08D4-08E1 1B44 1BAA 1BF2-1BF3 1DFB 302E-302F A953 A9C0 111C0 11235 1134D 11442 11446 116B6 11C3F 1D165-1D166
    1D16D-1D172 1E000-1E006 1E008-1E018 1E01B-1E021 1E023-1E024 1E026-1E02A 1E944-1E94A, and those in the musical notes
    1D15E-1D164 1D1BB-1D1C0. Where one of these stands beside another mark, not in canonical order, this tokenizer keeps
    the order of the text; the reference sorts them and gives one the other's offsets. The vocabularies of BERT
    (uncased, cased, Chinese) have none of them: a word with one is [UNK] in both.

    The table of characters is that of `tokenizers`, not of Google's tokenization.py, which asks the Unicode tables of
    its Python. They differ in characters that are rare in text: `tokenizers` drops characters for private use
    (U+E000-F8FF and planes 15 and 16), which Google's keeps; and it has an older Unicode, so that some 100 marks of
    punctuation (such as U+061D, U+0C77 and U+2E55-2E5D) do not part words, some 380 combining marks (such as
    U+07FD and U+0898-089F) are kept with strip_accents, and 13 format characters are kept.

    Args:
        vocabulary: `train` to learn it from the training rows, `pretrained` to take that of the model's pretrained
            weights, or the path of a vocab.txt.
        vocabulary_size: the most tokens to learn when the vocabulary is trained.
        lower_case: whether to fold case; by default as the pretrained model does, or else if the vocabulary has no
            capitals.
        strip_accents: whether to drop accents; by default as the pretrained model does, or else as lower_case.
        max_length: the longest sequence in tokens, [CLS] and [SEP]s included. Of a pair, the longer text is cut first.
        doc_stride: read a longer text as several sequences, each of which begins so many tokens further on in it than
            the one before; every one has the first text of a pair, or as much of it as fills half. Predictions of a
            text are the mean of those of its sequences; metrics that are shown while training count sequences. Without
            it the rest is cut.
        max_query_length: of a pair that is read in windows, the most tokens of the first text, such as a question; the
            rest of it is cut. By default half of the sequence.
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
        """Read the vocabulary, or learn it from the rows.

        Raises:
            ConfigError: the vocabulary is still `pretrained`, or a row lacks a field.
            DataError: vocab.txt is missing or is not one, or there are no words to learn from.
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
        """Read what `save` wrote; the saved settings replace those of the constructor.

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
        """Adopt the vocabulary of published weights, and how texts are folded before they are split.

        Args:
            vocabulary: its file.
            lower_case: whether to fold case; None where that is unknown.
            strip_accents: whether to drop accents; None for as `lower_case`.
        """
        self.vocabulary, self._adopted = str(vocabulary), (lower_case, strip_accents)
        if self.lower_case is None:  # of texts that are folded otherwise, the accents are the user's matter, too
            self.lower_case = lower_case
            self.strip_accents = strip_accents if self.strip_accents is None else self.strip_accents

    @property
    def adopted(self) -> dict[str, str]:
        if self._adopted is None:
            return {}
        lower_case, strip_accents = self._adopted
        is_usual = strip_accents in (None, lower_case)  # else it is stated
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
        """What splits its texts into word pieces."""
        return self._fitted

    def with_pieces(self, pieces: Any) -> "WordPiece":
        """Return one like it for texts that are split otherwise; it reads no windows.

        Args:
            pieces: gives `ids` as Pieces does, of the same `vocabulary`.
        """
        other = WordPiece(max_length=self.max_length, fields=self.fields)
        other.lower_case, other.strip_accents, other._pieces = self.lower_case, self.strip_accents, pieces
        return other

    def __call__(self, fields: dict[str, tf.Tensor]) -> dict[str, tf.RaggedTensor]:
        """Tokenize texts.

        Args:
            fields: for each name of `self.fields` the texts (B,), UTF-8; of the last it may be several, (B, N).

        Returns:
            `token_ids` and `segment_ids`, each ragged (B, (T)) int32; of several texts (B, (N), (T)); with a
            doc_stride (E, (T)), of as many sequences as that takes, and `example_rows` (E,) int64. After `locate`, also
            where tokens of the last text stand in it, ragged as these, int32: `starts`, `ends` and `max_context`, and
            of words `word_numbers`.
        """
        vocabulary = self._fitted.vocabulary
        if several := self._several(fields):
            return {name: several.together(values) for name, values in self(several.each(fields)).items()}
        texts = self._ids(fields)
        layout = self._layout(texts)
        start, end = vocabulary.id(START), vocabulary.id(END)
        segments = [tf.fill(tf.shape(text.values), number) for number, text in enumerate(texts)]
        windows = {} if self.doc_stride is None else {EXAMPLE_ROWS: layout.rows}
        return {
            TOKEN_IDS: layout.fill([text.values for text in texts], [start, end, end]),
            SEGMENT_IDS: layout.fill(segments, [0, 0, 1]),
            **windows,
            **self._places(fields, texts, layout),
        }

    def truncated(self, fields: dict[str, tf.Tensor]) -> tf.Tensor:
        """Find rows that are longer than max_length and are cut: (B,) bool."""
        if several := self._several(fields):
            return several.any(self.truncated(several.each(fields)))
        return self._layout(self._ids(fields)).is_cut

    def unknown(self, fields: dict[str, tf.Tensor]) -> dict[str, Unknown]:
        """Count the pieces of the whole texts, and the words that are [UNK]."""
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
        """Find where the tokens of `self(fields)` stand in their texts.

        Returns:
            the start and the end of each token, the end excluded, each ragged as they are, int32, counted in code
            points of the original text; 0 and 0 for [CLS] and [SEP]. Characters that are dropped are included within a
            token, but not at its ends.
        """
        spans = [self._fitted.spans(fields[name]) for name in self.fields]
        layout = self._layout([starts for starts, _ in spans])
        starts, ends = (layout.fill([side.values for side in sides], [0, 0, 0]) for sides in zip(*spans, strict=True))
        return starts, ends

    def _places(
        self, fields: dict[str, tf.Tensor], texts: list[tf.RaggedTensor], layout: Layout
    ) -> dict[str, tf.RaggedTensor]:
        """Find where the tokens of the last text stand in it."""
        if self.located is None:
            return {}
        names, find = {
            "words": ((WORD_NUMBERS, STARTS, ENDS), self._fitted.words),
            "pieces": ((STARTS, ENDS), self._fitted.spans),
        }[self.located]
        others = [tf.zeros_like(text.values) for text in texts[:-1]]
        found = zip(names, find(fields[self.fields[-1]]), strict=True)
        places = {name: layout.fill([*others, values.values], [0, 0, 0]) for name, values in found}
        return places | {MAX_CONTEXT: layout.max_context()}

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
