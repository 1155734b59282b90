"""Unigram tokenization in the graph: the most likely pieces of a text, as in SentencePiece."""

import functools
import hashlib
from collections.abc import Collection, Sequence

import tensorflow as tf
import tensorflow_text as tf_text

from tfattn.preprocessing import sentencepiece_proto as proto
from tfattn.preprocessing.piece_words import PieceWords
from tfattn.preprocessing.text_normalization import NormalizedTexts, Step, TextNormalization

SPACE = "▁"  # the blank in pieces


class UnigramPieces(tf.Module):
    """The splitting of texts into the most likely pieces.

    The pieces are those of SentencePiece. The reference, the `tokenizers` package, gives the same pieces except for
    texts that the compiled rules of the model change: it applies them to each user-perceived character of up to five
    bytes and else to single code points, and SentencePiece to any sequence of code points.

    Args:
        pieces: the pieces and their logarithmic probabilities, in the order of their ids.
        unknown_id: the id of text that no piece has.
        special: pieces that are never found in a text.
        added: tokens after the pieces, which are not found in a text either.
        steps: the normalization before the rules.
        rules: the compiled rules of the model (`precompiled_charsmap`).
        adds_prefix: whether a blank is put before a text.

    Attributes:
        tokens, token_names, token_texts, continues, unknown_id, fingerprint: see `TextPieces`.

    Source: Kudo 2018, "Subword regularization".
    """

    def __init__(
        self,
        pieces: Sequence[tuple[str, float]],
        *,
        unknown_id: int,
        special: Collection[str],
        added: Sequence[str] = (),
        steps: Sequence[Step] = (),
        rules: bytes = proto.NO_RULES,
        adds_prefix: bool = True,
    ):
        super().__init__()
        self.tokens = (*(text for text, _ in pieces), *added)
        self.token_names = self.token_texts = tuple(token.replace(SPACE, " ") for token in self.tokens)
        self.continues = tuple(not token.startswith(SPACE) for token in self.tokens)
        self.unknown_id = unknown_id
        never = set(special)
        kinds = {number: proto.CONTROL for number, (text, _) in enumerate(pieces) if text in never}
        model = proto.unigram_model(pieces, kinds, unknown_id=unknown_id, rules=rules, adds_prefix=adds_prefix)
        self._normalize = TextNormalization(steps)
        self._is_space = tf.constant([text.isspace() for text in self.token_texts])
        self._words = PieceWords()
        self.fingerprint = self._normalize.fingerprint
        # In a SavedModel that TensorFlow 2 loads, tokenizers with the same name would share the first model.
        name = f"unigram_{hashlib.sha256(model).hexdigest()}"
        self._tokenizer = tf_text.SentencepieceTokenizer(model, out_type=tf.int32, name=name)

    def ids(self, texts: tf.Tensor) -> tf.RaggedTensor:
        return self._tokenizer.tokenize(self._normalize.strings(texts))

    def spans(self, texts: tf.Tensor) -> tuple[tf.RaggedTensor, tf.RaggedTensor]:
        return self._spans(self._normalize(texts))

    def words(self, texts: tf.Tensor) -> tuple[tf.RaggedTensor, tf.RaggedTensor, tf.RaggedTensor]:
        return self._words(texts, *self.spans(texts))

    def unknown(self, texts: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        strings = self._normalize.strings(texts)
        ids, starts, ends = self._tokenizer.tokenize_with_offsets(strings)
        is_unknown = ids.values == self.unknown_id
        starts, ends = (tf.boolean_mask(side.values, is_unknown) for side in (starts, ends))
        texts_of_pieces = tf.gather(strings, tf.boolean_mask(ids.value_rowids(), is_unknown))
        return tf.size(ids.values), tf.strings.substr(texts_of_pieces, starts, ends - starts)

    def _spans(self, texts: NormalizedTexts) -> tuple[tf.RaggedTensor, tf.RaggedTensor]:
        ids, starts, ends = self._tokenizer.tokenize_with_offsets(texts.strings)
        byte_starts = texts.byte_starts()
        before = tf.repeat(tf.gather(byte_starts, texts.characters.row_starts()), ids.row_lengths())
        to_characters = functools.partial(tf.searchsorted, byte_starts, out_type=tf.int64)
        firsts, limits = (
            side.with_values(to_characters(tf.cast(side.values, tf.int64) + before)) for side in (starts, ends)
        )
        return self._normalize.spans(texts, firsts, limits, tf.gather(self._is_space, ids.values))
