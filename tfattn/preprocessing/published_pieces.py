"""Splitting of texts into the pieces of a published vocabulary, and joining of pieces to texts, in the graph."""

import hashlib
from typing import Any

import tensorflow as tf
import tensorflow_text as tf_text

from tfattn.preprocessing.code_points import valid_utf8
from tfattn.preprocessing.published_vocabulary import PublishedVocabulary
from tfattn.preprocessing.sentencepiece_model import MAX_TEXT_BYTES
from tfattn.preprocessing.sentencepiece_proto import Proto

SPACE = "▁"  # a blank in a piece
CODE = ">>.*?<<"  # the language of the translation, at the start of a source
_CODED = f"(?s)^({CODE})(.*)$"


class PublishedPieces(tf.Module):
    """A tokenizer with the ids of a published vocabulary, which splits and joins texts as SentencePieceModel does.

    A SentencePiece model splits texts, as in SentencePieceModel. Pieces are looked up by their text, because the
    vocabulary may have pieces of both languages: a character that the model does not know may be the piece of another
    model. Texts are the concatenation of pieces, with `▁` as a blank.

    Args:
        vocabulary: the tokens and the SentencePiece model.
        where: the path of the vocabulary, for messages.

    Raises:
        DataError: the SentencePiece model is damaged.

    Source: the tokenizers of MarianMT and T5 in transformers, but special tokens are not parsed in texts: `</s>` in a
    text is four characters.
    """

    def __init__(self, vocabulary: PublishedVocabulary, *, where: str = ""):
        super().__init__()
        self.known = vocabulary
        Proto.decode(vocabulary.content, where)  # refuses a damaged model
        self.tokens = vocabulary.tokens
        self.start_id, self.end_id = vocabulary.start_id, vocabulary.end_id
        self.special_ids, self.suppressed_ids = vocabulary.special_ids, vocabulary.suppressed_ids
        special = set(vocabulary.special_ids)
        ids = {token: number for number, token in enumerate(self.tokens) if number not in special}
        entries = tf.lookup.KeyValueTensorInitializer([*ids], [*ids.values()], tf.string, tf.int32)
        self._ids = tf.lookup.StaticHashTable(entries, vocabulary.unknown_id)
        self._names = tf.constant([*self.tokens])
        self._texts = tf.constant(["" if number in special else token for number, token in enumerate(self.tokens)])
        # In a SavedModel that TensorFlow 2 loads, tokenizers with the same name would share the first model.
        name = f"pieces_{hashlib.sha256(vocabulary.content).hexdigest()}"
        self._tokenizer = tf_text.SentencepieceTokenizer(vocabulary.content, out_type=tf.string, name=name)

    def split(self, texts: Any) -> tf.RaggedTensor:
        """Return the ids of the pieces of texts (B,), UTF-8: ragged (B, (T)) int32."""
        codes, texts = self._without_codes(valid_utf8(texts, max_bytes=MAX_TEXT_BYTES))
        pieces = self._tokenizer.tokenize(texts)
        pieces = pieces if codes is None else tf.concat([codes, pieces], axis=1)
        return pieces.with_values(self._ids.lookup(pieces.values))

    def unknown(self, texts: Any) -> tuple[tf.Tensor, tf.Tensor]:
        """Count the pieces of texts (B,), a scalar, and return the unknown pieces, (N,) strings."""
        _, texts = self._without_codes(valid_utf8(texts, max_bytes=MAX_TEXT_BYTES))
        pieces = self._tokenizer.tokenize(texts).values
        is_unknown = self._ids.lookup(pieces) == self.known.unknown_id
        return tf.size(pieces), tf.strings.regex_replace(tf.boolean_mask(pieces, is_unknown), SPACE, "")

    def join(self, token_ids: Any) -> tf.Tensor:
        """Join ids, (B, L) or ragged, to texts (B,). Special tokens and ids without a token are dropped."""
        texts = self._gather(self._texts, token_ids)
        joined = tf.strings.reduce_join(texts, axis=-1)
        return tf.strings.strip(tf.strings.regex_replace(joined, SPACE, " "))

    def names(self, token_ids: Any) -> tf.Tensor | tf.RaggedTensor:
        """Return the names of tokens, given their ids: strings of the same shape."""
        return self._gather(self._names, token_ids)

    def _gather(self, table: tf.Tensor, token_ids: Any) -> tf.Tensor | tf.RaggedTensor:
        def gather(ids: Any) -> tf.Tensor:
            ids = tf.cast(tf.convert_to_tensor(ids), tf.int32)
            is_known = (ids >= 0) & (ids < len(self.tokens))
            return tf.where(is_known, tf.gather(table, tf.where(is_known, ids, 0)), "")

        return tf.ragged.map_flat_values(gather, token_ids)

    def _without_codes(self, texts: tf.Tensor) -> tuple[tf.RaggedTensor | None, tf.Tensor]:
        """Split the codes, ragged (B, (0 or 1)), from the texts."""
        if not self.known.has_codes:
            return None, texts
        has_code = tf.strings.regex_full_match(texts, _CODED)
        codes = tf.strings.regex_replace(texts, _CODED, r"\1")
        codes = tf.RaggedTensor.from_row_lengths(tf.boolean_mask(codes, has_code), tf.cast(has_code, tf.int64))
        return codes, tf.strings.regex_replace(texts, f"(?s)^{CODE}", "")
