"""WordPiece splitting in the graph: greedy longest match from the left."""

import tensorflow as tf
import tensorflow_text as tf_text

from tfattn.preprocessing.characters import Characters
from tfattn.preprocessing.vocabulary import CONTINUES, MAX_WORD_LENGTH, UNKNOWN, Vocabulary
from tfattn.preprocessing.words import Words, split, word_spans

_BYTES = 4  # of the longest character in UTF-8
_TOO_LONG = "x" * (MAX_WORD_LENGTH * _BYTES + 1)


class Pieces(tf.Module):
    """The splitting of texts into the word pieces of a vocabulary.

    Args:
        vocabulary: the pieces; pieces that continue a word start with "##".
        unknown: the token of words that cannot be split.
        lower_case: whether to fold case.
        strip_accents: whether to drop accents.

    Attributes:
        characters: the table of normalized characters.
        tokens, token_names, token_texts, continues, unknown_id, fingerprint: see `TextPieces`.
    """

    def __init__(self, vocabulary: Vocabulary, *, lower_case: bool, strip_accents: bool, unknown: str = UNKNOWN):
        super().__init__()
        self.vocabulary = vocabulary
        self.tokens = self.token_names = vocabulary.tokens
        self.token_texts = tuple(token.removeprefix(CONTINUES) for token in self.tokens)
        self.continues = tuple(token.startswith(CONTINUES) for token in self.tokens)
        self.unknown_id = vocabulary.id(unknown)
        self.lower_case = lower_case
        self.strip_accents = strip_accents
        self.characters = Characters(lower_case=lower_case, strip_accents=strip_accents)
        self.fingerprint = self.characters.fingerprint
        self._tokenizer = tf_text.FastWordpieceTokenizer(
            list(vocabulary.tokens),
            max_bytes_per_word=MAX_WORD_LENGTH * _BYTES,
            token_out_type=tf.int32,
            unknown_token=unknown,
            no_pretokenization=True,
        )
        # Graphs share a single trace. It is no attribute, because exports would save it.
        shared = tf.function(self._traced, input_signature=[tf.TensorSpec([None], tf.string)], autograph=False)
        self._shared = lambda texts: shared(texts)

    def ids(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Return the ids of the pieces of texts (B,), ragged (B, (T)) int32."""
        words, ids, _ = self._split(texts)
        return _by_text(ids.values, ids.row_splits, words)

    def spans(self, texts: tf.Tensor) -> tuple[tf.RaggedTensor, tf.RaggedTensor]:
        """Return the start and the end of each piece of texts (B,), two ragged (B, (T)) int32, the end excluded.

        Positions count code points of the original text. Dropped characters within a piece are included; dropped
        characters before and after it are not.
        """
        words, _, starts = self._split(texts)

        # Bytes within words -> characters of words. Pieces have no gaps: each ends where the next piece starts.
        code_points = words.characters.values
        sizes = 1 + sum(tf.cast(code_points > last, tf.int64) for last in (0x7F, 0x7FF, 0xFFFF))
        offsets = tf.cumsum(sizes, exclusive=True)
        word_offsets = tf.gather(offsets, words.characters.row_starts())
        piece_offsets = starts.values + tf.gather(word_offsets, starts.value_rowids())
        firsts = tf.searchsorted(offsets, piece_offsets, out_type=tf.int64)
        lasts = tf.concat([firsts, [tf.size(code_points, tf.int64)]], 0)[1:] - 1

        # Characters of words -> characters of their texts.
        first_sources = _by_text(tf.gather(words.sources, firsts), starts.row_splits, words)
        last_sources = _by_text(tf.gather(words.sources, lasts), starts.row_splits, words)
        text_starts = tf.repeat(words.text_starts, first_sources.row_lengths())
        return (
            first_sources.with_values(tf.cast(first_sources.values - text_starts, tf.int32)),
            last_sources.with_values(tf.cast(last_sources.values - text_starts + 1, tf.int32)),
        )

    def words(self, texts: tf.Tensor) -> tuple[tf.RaggedTensor, tf.RaggedTensor, tf.RaggedTensor]:
        """Return number, start and end of the words of texts (B,): three ragged (B, (T)) int32.

        The first piece of each word has the number of the word in its text, from 1, and the start and the end of the
        word as in `spans`; all other pieces have 0.
        """
        words, ids, _ = self._split(texts)
        # The other pieces of a word come after its first.
        indices, size = ids.row_starts()[:, None], tf.shape(ids.values, tf.int64)
        numbers, starts, ends = (
            _by_text(tf.scatter_nd(indices, values, size), ids.row_splits, words) for values in word_spans(words)
        )
        return numbers, starts, ends

    def unknown(self, texts: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Count the pieces of texts (B,), a scalar, and return the unknown words, (N,) strings."""
        words, ids, _ = self._split(texts)
        strings = tf.strings.unicode_encode(words.characters, "UTF-8")
        is_unknown = tf.gather(ids.values, ids.row_starts()) == self.unknown_id  # always a whole word
        return tf.size(ids.values), strings[is_unknown]

    def _split(self, texts: tf.Tensor) -> tuple[Words, tf.RaggedTensor, tf.RaggedTensor]:
        return self._traced(texts) if tf.executing_eagerly() else self._shared(texts)

    def _traced(self, texts: tf.Tensor) -> tuple[Words, tf.RaggedTensor, tf.RaggedTensor]:
        """Return words, the ids of pieces, and their byte offsets in words, both ragged (words, (pieces))."""
        words = split(texts, self.characters)
        strings = tf.strings.unicode_encode(words.characters, "UTF-8")
        # tf-text limits the bytes of a word, the reference limits its characters: a word that is too long for the
        # reference is replaced by a word that is too long for tf-text.
        is_too_long = words.characters.row_lengths() > MAX_WORD_LENGTH
        ids, starts, _ = self._tokenizer.tokenize_with_offsets(tf.where(is_too_long, _TOO_LONG, strings))
        return words, ids, starts


def _by_text(values: tf.Tensor, word_splits: tf.Tensor, words: Words) -> tf.RaggedTensor:
    """Group the values of pieces by texts instead of words."""
    return tf.RaggedTensor.from_row_splits(values, tf.gather(word_splits, words.row_splits), validate=False)
