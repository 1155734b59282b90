"""Byte-level BPE of encoders in the graph: tokens of texts, and their positions."""

from collections.abc import Sequence

import tensorflow as tf

from tfattn.preprocessing.byte_pairs import BytePairMerger
from tfattn.preprocessing.byte_vocabulary import ByteVocabulary
from tfattn.preprocessing.piece_words import PieceWords
from tfattn.preprocessing.pre_tokenizer import Pattern, PreTokenizer
from tfattn.preprocessing.text_normalization import Step, TextNormalization


class BytePieces(tf.Module):
    """The splitting of texts into tokens of bytes, as in `ByteBpe`.

    Args:
        vocabulary: the tokens, with the tokens of all 256 bytes.
        pattern: how texts are split before bytes are merged.
        steps: the normalization of texts.

    Attributes:
        tokens, token_names, token_texts, continues, unknown_id, fingerprint: see `TextPieces`.
    """

    unknown_id = None

    def __init__(self, vocabulary: ByteVocabulary, *, pattern: Pattern, steps: Sequence[Step] = ()):
        super().__init__()
        self.tokens = vocabulary.tokens
        texts = zip(vocabulary.token_bytes, vocabulary.tokens, strict=True)
        texts = (text.decode("utf-8", errors="replace") if text else token for text, token in texts)
        self.token_names = self.token_texts = tuple(texts)
        self.continues = tuple(not text.startswith(" ") for text in self.token_texts)
        self._normalize = TextNormalization(steps)
        self._pre_tokenize = PreTokenizer(pattern)
        self._merge = BytePairMerger(vocabulary)
        self._lengths = tf.constant([len(text) for text in vocabulary.token_bytes], tf.int64)
        self._words = PieceWords()
        self.fingerprint = self._normalize.fingerprint  # of the same table as the pre-tokenizer

    def ids(self, texts: tf.Tensor) -> tf.RaggedTensor:
        return self._tokens(self._normalize.strings(texts))

    def spans(self, texts: tf.Tensor) -> tuple[tf.RaggedTensor, tf.RaggedTensor]:
        normalized = self._normalize(texts)
        ids = self._tokens(normalized.strings)
        byte_starts = normalized.byte_starts()
        limits = tf.cumsum(tf.gather(self._lengths, ids.values))  # bytes over all texts: no byte is dropped
        starts = limits - tf.gather(self._lengths, ids.values)
        firsts = tf.searchsorted(byte_starts, starts, side="right", out_type=tf.int64) - 1
        ends = tf.searchsorted(byte_starts, limits, out_type=tf.int64)
        return self._normalize.spans(normalized, ids.with_values(firsts), ids.with_values(ends), None)

    def words(self, texts: tf.Tensor) -> tuple[tf.RaggedTensor, tf.RaggedTensor, tf.RaggedTensor]:
        return self._words(texts, *self.spans(texts))

    def unknown(self, texts: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return tf.size(self.ids(texts).values), tf.constant([], tf.string)

    def _tokens(self, strings: tf.Tensor) -> tf.RaggedTensor:
        pieces = self._pre_tokenize(strings)
        ids = self._merge(pieces.values)
        return tf.RaggedTensor.from_row_splits(ids.values, tf.gather(ids.row_splits, pieces.row_splits), validate=False)
