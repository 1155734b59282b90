"""WordPiece tokenization, as in BERT."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import PositiveInt

from tfattn import hub
from tfattn.config.relations import OnlyWith
from tfattn.errors import ConfigError
from tfattn.features import TEXT
from tfattn.preprocessing import wordpiece_files
from tfattn.preprocessing.encoder_tokens import EncoderTokens, TextPieces
from tfattn.preprocessing.pieces import Pieces
from tfattn.preprocessing.preprocessor import PRETRAINED, TRAIN
from tfattn.preprocessing.special_tokens import SpecialTokens
from tfattn.preprocessing.vocabulary import PADDING, UNKNOWN, Vocabulary


class WordPiece(EncoderTokens):
    """BERT's tokenizer of a text or a pair of texts, in the graph.

    Sequences are [CLS] text [SEP], or [CLS] first [SEP] second [SEP] with segment 1 after the first [SEP]; an empty
    text has no pieces. Special tokens are not parsed in texts: `[MASK]` there is three words. Invalid UTF-8
    is read as U+FFFD, as with Python's `errors="replace"`, and so is dropped. If the last field is a list of texts,
    (B, N), each text makes a sequence with the first field; empty texts are padding.

    Ids, segments, offsets and truncation are equal to those of the reference, `BertWordPieceTokenizer` of the
    `tokenizers` package, and so to `BertTokenizerFast` of transformers, with one difference if strip_accents is set:
    the reference puts the marks of a letter into canonical order before it drops most of them. The kept marks are
    U+08D4-08E1 1B44 1BAA 1BF2-1BF3 1DFB 302E-302F A953 A9C0 111C0 11235 1134D 11442 11446 116B6 11C3F 1D165-1D166
    1D16D-1D172 1E000-1E006 1E008-1E018 1E01B-1E021 1E023-1E024 1E026-1E02A 1E944-1E94A, and those in the musical notes
    1D15E-1D164 1D1BB-1D1C0. If such a mark is next to another mark, not in canonical order, this tokenizer keeps the
    order of the text; the reference sorts the marks and swaps their offsets. The vocabularies of BERT (uncased, cased,
    Chinese) have none of these marks: a word with such a mark is [UNK] in both.

    Args:
        vocabulary: `train` to train it on the training rows, `pretrained` to use the vocabulary of the pretrained
            weights, or the path of a vocab.txt, which may be on a hub: hf://google-bert/bert-base-chinese/vocab.txt.
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

    special = SpecialTokens(others=(PADDING, UNKNOWN))

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
        super().__init__(
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
        self._adopted: tuple[bool | None, bool | None] | None = None

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
            known = Vocabulary.read(hub.local_path(self.vocabulary))
            lower_case, strip_accents = self._folding(default=not known.has_capitals)
        self._pieces = Pieces(known, lower_case=lower_case, strip_accents=strip_accents)

    def save(self, folder: Path) -> None:
        """Write vocab.txt and tokenizer_config.json, the file names of transformers."""
        wordpiece_files.write(folder, self.pieces, self.sequence_settings)

    def load(self, folder: Path) -> None:
        """Read what `save` wrote; the saved settings replace the arguments of the constructor.

        Raises:
            DataError: a file is missing or damaged, or the installed `tokenizers` treats characters differently from
                the version that saved the folder.
        """
        self._pieces, self.sequence_settings = wordpiece_files.read(folder)
        self.lower_case, self.strip_accents = self._pieces.lower_case, self._pieces.strip_accents

    @property
    def tables(self) -> dict[str, bytes]:
        """The table of characters: its number of columns, and the rows of `Characters.runs`, int32."""
        runs = self.pieces.characters.runs
        return {"characters.i32": np.int32(runs.shape[1]).tobytes() + runs.tobytes()}

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

    @property
    def files(self) -> list[Path]:
        return [] if self.vocabulary in (TRAIN, PRETRAINED) else [hub.local_path(self.vocabulary)]

    @property
    def sizes(self) -> dict[str, int]:
        return {"vocabulary_size": len(self.tokens) if self._pieces else self.vocabulary_size}

    def with_pieces(self, pieces: TextPieces) -> "WordPiece":
        other = WordPiece(max_length=self.max_length, fields=self.fields)
        other.lower_case, other.strip_accents, other._pieces = self.lower_case, self.strip_accents, pieces
        return other

    @property
    def unknown_remedy(self) -> str:
        if self.vocabulary == TRAIN:
            return (
                "Raise `vocabulary_size`, if it leaves no room for their characters, or train on texts that have them."
            )
        return "Use a vocabulary of this language, with its pretrained weights, or `vocabulary: train`."

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
