"""BPE merging of bytes to tokens, in the graph.

TensorFlow has no BPE operation, but SentencePiece, which is part of tensorflow-text, merges the adjacent pair that
makes the piece of the highest score, the leftmost pair first. The vocabulary is therefore converted to a SentencePiece
model in which the score of a token is its negative merge rank.
"""

import hashlib
import struct
from collections.abc import Iterator

import tensorflow as tf
import tensorflow_text as tf_text

from tfattn.preprocessing.byte_characters import CHARACTERS, code_points
from tfattn.preprocessing.byte_vocabulary import ByteVocabulary

# The values of sentencepiece_model.proto. A control piece is never found in a text.
_BPE = 2
_NORMAL, _UNKNOWN, _CONTROL = 1, 2, 3
_UNKNOWN_PIECE = "\uffff"  # a noncharacter, added after all tokens so that their ids stay the same
# An empty trie of replacements. Without a trie, SentencePiece prints a line to standard error.
_NO_RULES = struct.pack("<I", 1024) + bytes(1024) + b"\0"


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
        return tf.gather(self._tokenizer.tokenize(self.to_unicode(unique)), indices)


def _model(vocabulary: ByteVocabulary) -> bytes:
    """Serialize a vocabulary as a ModelProto of sentencepiece_model.proto."""
    size = len(vocabulary.tokens)
    trainer = _number(3, _BPE) + _number(4, size + 1) + _number(40, size)
    trainer += b"".join(_number(field, -1) for field in (41, 42, 43))  # no start, end and padding
    normalizer = _bytes(1, b"none") + _bytes(2, _NO_RULES) + b"".join(_number(field, 0) for field in (3, 4, 5))
    return b"".join(_pieces(vocabulary)) + _bytes(2, trainer) + _bytes(3, normalizer)


def _pieces(vocabulary: ByteVocabulary) -> Iterator[bytes]:
    for token in vocabulary.tokens:
        is_normal = token in vocabulary.merge_ranks or token in CHARACTERS
        yield _piece(token, -vocabulary.merge_ranks.get(token, 0), _NORMAL if is_normal else _CONTROL)
    yield _piece(_UNKNOWN_PIECE, 0, _UNKNOWN)


def _piece(token: str, score: int, kind: int) -> bytes:
    return _bytes(1, _bytes(1, token.encode()) + _varint(2 << 3 | 5) + struct.pack("<f", score) + _number(3, kind))


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value % 2**64)


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    groups = []
    while value > 127:
        groups.append(value & 127 | 128)
        value >>= 7
    return bytes([*groups, value])
