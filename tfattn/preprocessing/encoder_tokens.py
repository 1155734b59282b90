"""The base class of tokenizers of encoders: sequences of one text or two with special tokens."""

from typing import Any, Protocol

import tensorflow as tf

from tfattn.errors import TfattnError
from tfattn.features import ENDS, EXAMPLE_ROWS, MAX_CONTEXT, SEGMENT_IDS, STARTS, TOKEN_IDS, WORD_NUMBERS
from tfattn.preprocessing.padding import SeveralTexts
from tfattn.preprocessing.segments import Layout, TextSequences
from tfattn.preprocessing.special_tokens import SpecialTokens
from tfattn.preprocessing.unknown import Unknown


class TextPieces(Protocol):
    """The splitting of texts (B,) into the tokens of a vocabulary, in the graph.

    Attributes:
        tokens: the tokens in the order of their ids, under the names of the vocabulary.
        token_names: the tokens as they are shown.
        token_texts: the text of each token; a blank in front is part of the token.
        continues: whether each token continues the word before it.
        unknown_id: the id of text that has no token; None if every text has tokens.
        fingerprint: a digest of the treatment of characters.
    """

    tokens: tuple[str, ...]
    token_names: tuple[str, ...]
    token_texts: tuple[str, ...]
    continues: tuple[bool, ...]
    unknown_id: int | None
    fingerprint: str

    def ids(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Return the ids of the pieces of each text, ragged (B, (T)) int32."""

    def spans(self, texts: tf.Tensor) -> tuple[tf.RaggedTensor, tf.RaggedTensor]:
        """Return the start and the end of each piece in code points of the text, ragged (B, (T)) int32."""

    def words(self, texts: tf.Tensor) -> tuple[tf.RaggedTensor, tf.RaggedTensor, tf.RaggedTensor]:
        """Return number, start and end of a word at its first piece, and 0 at others, ragged (B, (T)) int32."""

    def unknown(self, texts: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Count the pieces, a scalar, and return the unknown words, (N,) strings."""


class EncoderTokens(TextSequences):
    """A tokenizer of encoders. A subclass fits, saves and loads the pieces.

    Attributes:
        special: the special tokens of sequences.
    """

    special: SpecialTokens
    _pieces: TextPieces | None = None

    @property
    def pieces(self) -> TextPieces:
        """The splitting of texts into pieces."""
        if self._pieces is None:
            raise TfattnError("the tokenizer has no vocabulary yet", remedy="Call `fit` or `load` first.")
        return self._pieces

    def with_pieces(self, pieces: TextPieces) -> "EncoderTokens":
        """Return a copy with another splitting of texts, and without windows.

        Args:
            pieces: pieces with the same vocabulary.
        """
        raise NotImplementedError

    @property
    def tokens(self) -> list[str]:
        """The tokens of the vocabulary, in the order of their ids."""
        return list(self.pieces.tokens)

    @property
    def start_id(self) -> int:
        """The id of the token before a text."""
        return self.pieces.tokens.index(self.special.start)

    @property
    def end_id(self) -> int:
        """The id of the token after a text."""
        return self.pieces.tokens.index(self.special.end)

    @property
    def mask_id(self) -> int | None:
        """The id of the token that hides another token; None if the vocabulary has none."""
        mask, tokens = self.special.mask, self.pieces.tokens
        return tokens.index(mask) if mask in tokens else None

    @property
    def boundary_ids(self) -> list[int]:
        """The ids of the tokens before and after a text."""
        return [self.start_id, self.end_id]

    @property
    def special_ids(self) -> list[int]:
        """The ids of all special tokens."""
        tokens = self.pieces.tokens
        return [tokens.index(name) for name in self.special.names if name in tokens]

    def layout(self, texts: list[tf.RaggedTensor]) -> Layout:
        """Return the layout of the pieces of the texts, each ragged (B, (T))."""
        return Layout(
            texts,
            max_length=self.max_length,
            doc_stride=self.doc_stride,
            max_query_length=self.max_query_length,
            separators=self.special.separators,
        )

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
        _ = self.pieces
        if several := self._several(fields):
            return {name: several.regroup(values) for name, values in self(several.flatten(fields)).items()}
        texts = self._ids(fields)
        layout = self.layout(texts)
        second = self.special.second_segment
        segments = [tf.fill(tf.shape(text.values), second * number) for number, text in enumerate(texts)]
        windows = {} if self.doc_stride is None else {EXAMPLE_ROWS: layout.rows}
        return {
            TOKEN_IDS: layout.fill([text.values for text in texts], [self.start_id, self.end_id, self.end_id]),
            SEGMENT_IDS: layout.fill(segments, [0, 0, second]),
            **windows,
            **self._locations(fields, texts, layout),
        }

    def truncated(self, fields: dict[str, tf.Tensor]) -> tf.Tensor:
        """Find rows that are longer than max_length: (B,) bool."""
        if several := self._several(fields):
            return several.any(self.truncated(several.flatten(fields)))
        return self.layout(self._ids(fields)).is_cut

    def unknown(self, fields: dict[str, tf.Tensor]) -> dict[str, Unknown]:
        """Count the pieces of the untruncated texts, and the unknown words."""
        found = {name: self.pieces.unknown(tf.reshape(fields[name], [-1])) for name in self.fields}
        return {name: Unknown.of(pieces, words.numpy()) for name, (pieces, words) in found.items()}

    def offsets(self, fields: dict[str, tf.Tensor]) -> tuple[tf.RaggedTensor, tf.RaggedTensor]:
        """Return the character offsets of the tokens of `self(fields)`.

        Returns:
            the start and the end of each token, the end excluded, ragged as the tokens, int32, in code points of the
            original text; 0 and 0 for special tokens. Dropped characters within a token are included, but not at its
            ends.
        """
        spans = [self.pieces.spans(fields[name]) for name in self.fields]
        layout = self.layout([starts for starts, _ in spans])
        starts, ends = (layout.fill([side.values for side in sides], [0, 0, 0]) for sides in zip(*spans, strict=True))
        return starts, ends

    def _locations(
        self, fields: dict[str, tf.Tensor], texts: list[tf.RaggedTensor], layout: Layout
    ) -> dict[str, tf.RaggedTensor]:
        """Return the positions of the tokens in the last text."""
        if self.located is None:
            return {}
        names, find = {
            "words": ((WORD_NUMBERS, STARTS, ENDS), self.pieces.words),
            "pieces": ((STARTS, ENDS), self.pieces.spans),
        }[self.located]
        others = [tf.zeros_like(text.values) for text in texts[:-1]]
        found = zip(names, find(fields[self.fields[-1]]), strict=True)
        locations = {name: layout.fill([*others, values.values], [0, 0, 0]) for name, values in found}
        return locations | {MAX_CONTEXT: layout.max_context()}

    def _several(self, fields: dict[str, tf.Tensor]) -> SeveralTexts | None:
        last = tf.convert_to_tensor(fields[self.fields[-1]])
        return SeveralTexts(last) if last.shape.rank == 2 else None

    def _ids(self, fields: dict[str, Any]) -> list[tf.RaggedTensor]:
        return [self.pieces.ids(fields[name]) for name in self.fields]
