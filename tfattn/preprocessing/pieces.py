"""Word pieces of texts, in the graph: each word is split into the longest pieces of the vocabulary, from the left."""

import tensorflow as tf
import tensorflow_text as tf_text

from tfattn.preprocessing.characters import Characters
from tfattn.preprocessing.vocabulary import LONGEST_WORD, UNKNOWN, Vocabulary
from tfattn.preprocessing.words import Words, places_of, split

_BYTES = 4  # of the longest character in UTF-8
_TOO_LONG = "x" * (LONGEST_WORD * _BYTES + 1)


class Pieces(tf.Module):
    """The splitting of texts into the word pieces of a vocabulary.

    Args:
        vocabulary: the pieces; those that continue a word begin with "##".
        lower_case: whether to fold case.
        strip_accents: whether to drop accents.

    Attributes:
        characters: the table of normalized characters.
    """

    def __init__(self, vocabulary: Vocabulary, *, lower_case: bool, strip_accents: bool):
        super().__init__()
        self.vocabulary = vocabulary
        self.lower_case = lower_case
        self.strip_accents = strip_accents
        self.characters = Characters(lower_case=lower_case, strip_accents=strip_accents)
        self._tokenizer = tf_text.FastWordpieceTokenizer(
            list(vocabulary.tokens),
            max_bytes_per_word=LONGEST_WORD * _BYTES,
            token_out_type=tf.int32,
            unknown_token=UNKNOWN,
            no_pretokenization=True,
        )
        # In graphs it is traced once, whoever asks; not an attribute, which would be saved with every export.
        shared = tf.function(self._traced, input_signature=[tf.TensorSpec([None], tf.string)], autograph=False)
        self._shared = lambda texts: shared(texts)

    def ids(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Return the ids of the pieces of texts (B,), ragged (B, (T)) int32."""
        words, ids, _ = self._split(texts)
        return _by_text(ids.values, ids.row_splits, words)

    def spans(self, texts: tf.Tensor) -> tuple[tf.RaggedTensor, tf.RaggedTensor]:
        """Return where the pieces of texts (B,) begin and end, two ragged (B, (T)) int32, the end excluded.

        Positions count the code points of the original text. A piece reaches from the first of its characters to the
        last: characters that are dropped between them are included, those before and after are not.
        """
        words, _, starts = self._split(texts)

        # Bytes within words -> characters of words. The pieces leave no gaps: each ends where the next one starts.
        code_points = words.characters.values
        sizes = 1 + sum(tf.cast(code_points > last, tf.int64) for last in (0x7F, 0x7FF, 0xFFFF))
        places = tf.cumsum(sizes, exclusive=True)
        word_places = tf.gather(places, words.characters.row_starts())
        piece_places = starts.values + tf.gather(word_places, starts.value_rowids())
        firsts = tf.searchsorted(places, piece_places, out_type=tf.int64)
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
        """Return where the words of texts (B,) begin and end, at the first piece of each: three ragged (B, (T)) int32.

        They are the number of the word in its text, from 1, and its first character and the one behind its last, as
        `spans` counts them; 0 at the other pieces.
        """
        words, ids, _ = self._split(texts)
        # The other pieces of a word come after its first.
        places, size = ids.row_starts()[:, None], tf.shape(ids.values, tf.int64)
        numbers, begins, ends = (
            _by_text(tf.scatter_nd(places, values, size), ids.row_splits, words) for values in places_of(words)
        )
        return numbers, begins, ends

    def unknown(self, texts: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Count the pieces of texts (B,), a scalar, and collect the words that are unknown, (N,) strings."""
        words, ids, _ = self._split(texts)
        strings = tf.strings.unicode_encode(words.characters, "UTF-8")
        is_unknown = tf.gather(ids.values, ids.row_starts()) == self.vocabulary.id(UNKNOWN)  # a whole word is, or none
        return tf.size(ids.values), strings[is_unknown]

    def _split(self, texts: tf.Tensor) -> tuple[Words, tf.RaggedTensor, tf.RaggedTensor]:
        return self._traced(texts) if tf.executing_eagerly() else self._shared(texts)

    def _traced(self, texts: tf.Tensor) -> tuple[Words, tf.RaggedTensor, tf.RaggedTensor]:
        """Return words, the ids of pieces, and the bytes where they start in words, both ragged (words, (pieces))."""
        words = split(texts, self.characters)
        strings = tf.strings.unicode_encode(words.characters, "UTF-8")
        # tf-text limits the bytes of a word, the reference its characters: a word that is too long for the reference
        # is replaced by one that is too long for tf-text.
        is_too_long = words.characters.row_lengths() > LONGEST_WORD
        ids, starts, _ = self._tokenizer.tokenize_with_offsets(tf.where(is_too_long, _TOO_LONG, strings))
        return words, ids, starts


def _by_text(values: tf.Tensor, word_splits: tf.Tensor, words: Words) -> tf.RaggedTensor:
    """Group the values of pieces by texts instead of words."""
    return tf.RaggedTensor.from_row_splits(values, tf.gather(word_splits, words.row_splits), validate=False)
