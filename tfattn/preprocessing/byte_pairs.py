"""BPE merging of bytes to tokens, in the graph.

TensorFlow has no BPE operation, but SentencePiece, which is part of tensorflow-text, merges the adjacent pair that
makes the piece of the highest score, the leftmost pair first. The vocabulary is therefore converted to a SentencePiece
model in which the score of a token is its negative merge rank.
"""

import hashlib

import tensorflow as tf
import tensorflow_text as tf_text

from tfattn.preprocessing.byte_vocabulary import CHARACTERS, ByteVocabulary, code_points, unicode_to_bytes
from tfattn.preprocessing.sentencepiece_proto import (
    BPE,
    CONTROL,
    NORMAL,
    UNKNOWN,
    Piece,
    Proto,
    normalizer_settings,
    trainer_settings,
)

_UNKNOWN_PIECE = "\uffff"  # a noncharacter, added after all tokens so that their ids stay the same


class BytePairMerger(tf.Module):
    """BPE merging of the bytes of text pieces to the tokens of a vocabulary.

    Bytes that are not in the vocabulary are dropped, as in the reference.
    """

    def __init__(self, vocabulary: ByteVocabulary):
        super().__init__()
        known = set(vocabulary.tokens)
        self._characters = tf.constant(code_points())
        self._is_known = tf.constant([character in known for character in CHARACTERS])
        content = _model(vocabulary)
        # In a SavedModel that TensorFlow 2 loads, tokenizers with the same name would share the first model.
        name = f"byte_pairs_{hashlib.sha256(content).hexdigest()}"
        self._tokenizer = tf_text.SentencepieceTokenizer(content, out_type=tf.int32, name=name)
        self._whole = _lookup_table(self._divided(vocabulary)) if vocabulary.has_whole_pieces else None

    def to_unicode(self, pieces: tf.Tensor) -> tf.Tensor:
        """Convert bytes (N,) to printable characters, and drop bytes that are not in the vocabulary."""
        split = tf.strings.bytes_split(pieces)
        values = tf.cast(tf.reshape(tf.io.decode_raw(split.values, tf.uint8), [-1]), tf.int32)
        characters = split.with_values(tf.gather(self._characters, values))
        legible = tf.ragged.boolean_mask(characters, split.with_values(tf.gather(self._is_known, values)))
        return tf.strings.unicode_encode(legible, "UTF-8")

    def __call__(self, pieces: tf.Tensor) -> tf.RaggedTensor:
        """Return the ids of the tokens of pieces (N,): ragged (N, (T)) int32."""
        # Texts repeat most of their words.
        unique, indices = tf.unique(pieces, out_idx=tf.int64)
        if self._whole is None:
            return tf.gather(self._tokenizer.tokenize(self.to_unicode(unique)), indices)
        whole = self._whole.lookup(unique)
        is_whole = whole >= 0
        merged = self._tokenizer.tokenize(self.to_unicode(tf.where(is_whole, "", unique)))
        found = tf.RaggedTensor.from_row_lengths(whole[is_whole], tf.cast(is_whole, tf.int64), validate=False)
        return tf.gather(tf.concat([found, merged], axis=1), indices)

    def _divided(self, vocabulary: ByteVocabulary) -> dict[bytes, int]:
        """Return the bytes and the ids of the tokens that merging divides into several tokens."""
        others = {*vocabulary.special, *vocabulary.text_tokens}
        tokens = [token for token in vocabulary.tokens if token not in others]
        found = self._tokenizer.tokenize(tokens).to_list()
        ids = {token: vocabulary.ids[token] for token in tokens}
        return {
            unicode_to_bytes(token): ids[token] for token, row in zip(tokens, found, strict=True) if row != [ids[token]]
        }


def _lookup_table(ids: dict[bytes, int]) -> tf.lookup.StaticHashTable | None:
    """Return a table of ids, with -1 for all others; None if there are none."""
    if not ids:
        return None
    initializer = tf.lookup.KeyValueTensorInitializer([*ids], [*ids.values()], tf.string, tf.int32)
    return tf.lookup.StaticHashTable(initializer, default_value=-1)


def _model(vocabulary: ByteVocabulary) -> bytes:
    """Serialize a vocabulary as a SentencePiece model."""
    pieces = [_piece(vocabulary, token) for token in vocabulary.tokens]
    unknown = Piece(_UNKNOWN_PIECE, 0, UNKNOWN)
    trainer = trainer_settings(BPE, len(pieces) + 1, len(pieces))
    return Proto((*pieces, unknown), trainer, normalizer_settings()).encode()


def _piece(vocabulary: ByteVocabulary, token: str) -> Piece:
    is_normal = token in vocabulary.merge_ranks or token in CHARACTERS
    return Piece(token, -vocabulary.merge_ranks.get(token, 0), NORMAL if is_normal else CONTROL)
