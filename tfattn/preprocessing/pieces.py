"""From texts to word pieces, in the graph: characters, then words, then the longest pieces that the vocabulary has."""

from typing import NamedTuple

import tensorflow as tf
import tensorflow_text as tf_text

from tfattn.preprocessing.characters import ALONE, SPACE, Characters
from tfattn.preprocessing.vocabulary import LONGEST_WORD, UNKNOWN, Vocabulary

_BYTES = 4  # of the longest character in UTF-8
_TOO_LONG = "x" * (LONGEST_WORD * _BYTES + 1)


class _Words(NamedTuple):
    """The words of a batch of texts, one after the other.

    `sources` gives for each character of a word the one it came from, counted through the whole batch.
    """

    characters: tf.RaggedTensor  # (words, (characters)) int32 code points
    sources: tf.Tensor  # (characters of all words,) int64
    row_splits: tf.Tensor  # (B + 1,) int64, the words of each text
    text_starts: tf.Tensor  # (B,) int64, the first character of each text, counted like sources


class Pieces(tf.Module):
    """Splits texts into the word pieces of a vocabulary.

    Args:
        vocabulary: the pieces; those that continue a word begin with "##".
        lower_case: fold case.
        strip_accents: drop accents.

    Attributes:
        characters: the table of what becomes of each character.
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

    def ids(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Texts (B,) to the ids of their pieces, ragged (B, (T)) int32."""
        words = self._words(texts)
        ids, _ = self._pieces(words)
        return _by_text(ids.values, ids.row_splits, words)

    def spans(self, texts: tf.Tensor) -> tuple[tf.RaggedTensor, tf.RaggedTensor]:
        """Texts (B,) to the first character of each piece and the one behind its last, two ragged (B, (T)) int32.

        Characters are the code points of the text as it came in. A piece reaches from the first of its characters to
        the last: dropped ones between them count in, those before and behind do not.
        """
        words = self._words(texts)
        _, starts = self._pieces(words)

        # Bytes within words -> characters of words. The pieces leave no gaps: each ends where the next one starts.
        code_points = words.characters.values
        sizes = 1 + sum(tf.cast(code_points > last, tf.int64) for last in (0x7F, 0x7FF, 0xFFFF))
        places = tf.cumsum(sizes, exclusive=True)
        word_places = tf.gather(places, words.characters.row_starts())
        piece_places = starts.values + tf.gather(word_places, starts.value_rowids())
        firsts = tf.searchsorted(places, piece_places, out_type=tf.int64)
        lasts = tf.concat([firsts, [tf.size(code_points, tf.int64)]], 0)[1:] - 1

        # Characters of words -> characters of their texts.
        starts, ends = (
            _by_text(tf.gather(words.sources, places) + behind, starts.row_splits, words)
            for places, behind in ((firsts, 0), (lasts, 1))
        )
        origin = tf.repeat(words.text_starts, starts.row_lengths())
        return tuple(spans.with_values(tf.cast(spans.values - origin, tf.int32)) for spans in (starts, ends))

    def _words(self, texts: tf.Tensor) -> _Words:
        texts = tf.strings.unicode_decode(texts, "UTF-8", errors="replace", replacement_char=0xFFFD)
        kinds, code_points = self.characters(texts.values)  # (N, W)

        # Number the words: a blank starts a new one, a character alone before and behind itself, a text at its start.
        is_alone = tf.cast(kinds[:, 0] == ALONE, tf.int32)
        starts = 2 * is_alone + tf.cast(kinds[:, 0] == SPACE, tf.int32)
        text_starts = texts.row_starts()
        starts = tf.tensor_scatter_nd_add(  # an empty text at the end starts behind the last character
            tf.pad(starts, [[0, 1]]), text_starts[:, None], tf.ones_like(text_starts, tf.int32)
        )[:-1]
        numbers = tf.cumsum(starts) - is_alone

        # Keep what stands in words; a word begins where the number changes.
        kept = tf.where(kinds < SPACE)
        sources = kept[:, 0]
        numbers = tf.gather(numbers, sources)
        is_first = tf.concat([tf.ones_like(numbers[:1], tf.bool), numbers[1:] != numbers[:-1]], 0)
        word_starts = tf.where(is_first)[:, 0]
        return _Words(
            characters=tf.RaggedTensor.from_row_starts(tf.gather_nd(code_points, kept), word_starts, validate=False),
            sources=sources,
            row_splits=tf.searchsorted(tf.gather(sources, word_starts), texts.row_splits, out_type=tf.int64),
            text_starts=text_starts,
        )

    def _pieces(self, words: _Words) -> tuple[tf.RaggedTensor, tf.RaggedTensor]:
        """Ids of pieces and the bytes at which they start in their words, both ragged (words, (pieces))."""
        strings = tf.strings.unicode_encode(words.characters, "UTF-8")
        # tf-text counts bytes, the reference characters: what is too long for the one is made so for the other.
        is_too_long = words.characters.row_lengths() > LONGEST_WORD
        ids, starts, _ = self._tokenizer.tokenize_with_offsets(tf.where(is_too_long, _TOO_LONG, strings))
        return ids, starts


def _by_text(values: tf.Tensor, word_splits: tf.Tensor, words: _Words) -> tf.RaggedTensor:
    """Values of the pieces of words, as rows of texts."""
    return tf.RaggedTensor.from_row_splits(values, tf.gather(word_splits, words.row_splits), validate=False)
