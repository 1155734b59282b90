"""Readable labels of tokens: their names, their words, and special tokens."""

from collections.abc import Collection, Sequence
from typing import Any

import tensorflow as tf

from tfattn.preprocessing.encoder_tokens import EncoderTokens
from tfattn.preprocessing.language import Language
from tfattn.preprocessing.masked_text import MaskedText
from tfattn.preprocessing.preprocessor import Preprocessor
from tfattn.preprocessing.sentencepiece import SentencePiece

SPACE = "▁"  # the prefix of SentencePiece pieces that start a word
# The first UTF-8 bytes of scripts without spaces, U+3000 to U+DFFF: each character starts a word.
EAST_ASIAN = range(0xE3, 0xEE)


class TokenLabels(tf.Module):
    """Lookup of token names, and numbering of the words of each row.

    A word starts at a token of `starts`, after a token that ends in white space, and before and after special tokens.
    A token of only white space belongs to the word after it.

    Args:
        names: the names of the V tokens.
        texts: the text of each token.
        starts: whether each token always starts a word.
        special: the ids of tokens without text.

    Example:
        >>> labels = TokenLabels(["[CLS]", "pump", "##s"], [b"", b"pump", b"s"], [True, True, False], [0])
        >>> labels(tf.constant([[0, 1, 2]]), tf.constant([[True] * 3]))["words"].numpy().tolist()
        [[0, 1, 1]]
    """

    def __init__(
        self, names: Sequence[str | bytes], texts: Sequence[bytes], starts: Sequence[bool], special: Collection[int]
    ):
        super().__init__()
        known = set(special)
        self._names, self._texts = tf.constant([*names]), tf.constant([*texts])
        self._starts = tf.constant(
            [start or text[:1].isspace() or _is_unspaced(text) for start, text in zip(starts, texts, strict=True)]
        )
        self._ends = tf.constant([text[-1:].isspace() and not text.isspace() for text in texts])
        self._blank = tf.constant([text.isspace() for text in texts])
        self._special = tf.constant([number in known for number in range(len(names))])

    def __call__(self, token_ids: Any, padding_mask: Any) -> dict[str, tf.Tensor]:
        """Describe tokens (B, T) under a padding mask.

        Returns:
            (B, T) each: `tokens`, their names; `words` int32, the number of the word of each token, from 0;
            `word_texts`, the words; `is_special` bool. Padding has "" and 0.
        """
        token_ids, real = tf.cast(token_ids, tf.int32), tf.cast(padding_mask, tf.bool)
        special, ends, blank = (tf.gather(table, token_ids) for table in (self._special, self._ends, self._blank))
        starts = tf.gather(self._starts, token_ids) & ~_after(blank) | special | _after(special | ends)
        first = tf.range(tf.shape(token_ids)[1]) == 0
        words = tf.cumsum(tf.cast(starts & ~first, tf.int32), axis=1)
        texts = tf.where(
            real, tf.where(special, tf.gather(self._names, token_ids), tf.gather(self._texts, token_ids)), ""
        )
        numbers = words + tf.range(tf.shape(words)[0])[:, None] * tf.shape(words)[1]
        joined = tf.strings.unsorted_segment_join(tf.reshape(texts, [-1]), tf.reshape(numbers, [-1]), tf.size(numbers))
        return {
            "tokens": tf.where(real, tf.gather(self._names, token_ids), ""),
            "words": tf.where(real, words, 0),
            "word_texts": tf.where(real, tf.strings.strip(tf.gather(joined, numbers)), ""),
            "is_special": special & real,
        }


def source_token_labels(preprocessor: Preprocessor) -> TokenLabels:
    """Return the labels of a preprocessor's tokens (of sources in a translator); ids if tokens have no names."""
    if isinstance(preprocessor, Language):
        return _language_labels(preprocessor)
    if isinstance(preprocessor, SentencePiece):
        return _piece_labels(preprocessor.tokens, preprocessor.source_special_ids)
    if isinstance(preprocessor, EncoderTokens | MaskedText):
        pieces = preprocessor.pieces
        texts = [text.encode() for text in pieces.token_texts]
        starts = [not continues for continues in pieces.continues]
        return TokenLabels(pieces.token_names, texts, starts, preprocessor.boundary_ids)
    names = getattr(preprocessor, "tokens", None)
    if names is None:  # a custom preprocessor without names
        names = [str(number) for number in range(preprocessor.sizes["vocabulary_size"])]
    return TokenLabels(names, [name.encode() for name in names], [True] * len(names), [])


def target_token_labels(preprocessor: SentencePiece) -> TokenLabels:
    """Return the labels of the target tokens of a translator."""
    return _piece_labels(preprocessor.target_tokens, preprocessor.target_special_ids)


def _piece_labels(names: Sequence[str], special: Collection[int]) -> TokenLabels:
    return TokenLabels(
        names, [name.replace(SPACE, " ").encode() for name in names], [name[:1] == SPACE for name in names], special
    )


def _language_labels(language: Language) -> TokenLabels:
    texts = language.token_bytes
    special = [number for number, text in enumerate(texts) if not text]
    names = [text or name.encode() for text, name in zip(texts, language.tokens, strict=True)]
    return TokenLabels(names, texts, [False] * len(texts), special)


def _after(marked: tf.Tensor) -> tf.Tensor:
    """Mark the tokens after marked tokens (B, T)."""
    return tf.pad(marked[:, :-1], [[0, 0], [1, 0]])


def _is_unspaced(text: bytes) -> bool:
    return bool(text) and text[0] in EAST_ASIAN
