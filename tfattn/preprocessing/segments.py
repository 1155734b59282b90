"""Packing of one or two texts into sequences, [CLS] a [SEP] or [CLS] a [SEP] b [SEP]: cut to length, or windows."""

from collections.abc import Sequence

import tensorflow as tf

from tfattn.errors import ConfigError


def check_limits(
    fields: Sequence[str],
    *,
    max_length: int,
    doc_stride: int | None,
    num_marks: int,
    marks: str,
    max_query_length: int | None = None,
) -> None:
    """Refuse limits that leave no room for text, or text between two windows.

    Args:
        fields: the names of the texts of a sequence.
        max_length, doc_stride, max_query_length: see `Layout`.
        num_marks: how many tokens of a sequence are no text, and
        marks: what messages call them.

    Raises:
        ConfigError: limits that do not fit, or neither one text nor two.
    """
    if not 1 <= len(fields) <= 2:
        raise ConfigError(
            "a sequence is made of one text or two", key="fields", expected="1 or 2 names", received=repr(fields)
        )
    left = max_length - num_marks
    if left < len(fields):
        raise ConfigError(
            "there is no room for text",
            key="max_length",
            expected=f"at least {num_marks + len(fields)}, {marks} included",
            received=str(max_length),
        )
    # What is left for windows of the last text when the first of a pair has all that it may have.
    first = min(left // 2, left if max_query_length is None else max_query_length)
    room = left - first * (len(fields) - 1)
    if doc_stride is not None and doc_stride > room:
        raise ConfigError(
            "there would be text between two windows",
            key="doc_stride",
            expected=f"at most {room} for max_length {max_length}",
            received=str(doc_stride),
        )


class Layout:
    """The layout of a batch of sequences: from which text each token comes.

    Args:
        texts: the pieces of the one or two texts, each ragged (B, (T)), of which only the lengths are read.
        max_length: the longest sequence, in tokens, [CLS] and [SEP]s included.
        doc_stride: how many pieces later the next window of the last text begins, where it is too long; None for a
            single sequence, of which the rest is cut. Of two texts, the first then has half of the room at most.
        max_query_length: the most pieces that the first of two texts then has, if that is less.

    Attributes:
        is_cut: (B,) bool, whether pieces were cut.
        rows: (E,) int64, of which row each sequence is.
    """

    def __init__(
        self,
        texts: Sequence[tf.RaggedTensor],
        *,
        max_length: int,
        doc_stride: int | None = None,
        max_query_length: int | None = None,
    ):
        lengths = [text.row_lengths() for text in texts]
        room = max_length - len(texts) - 1
        begins = [text.row_starts() for text in texts]
        if doc_stride is None:
            kept = longest_first(lengths, room=room)
            self.is_cut = tf.add_n(kept) < tf.add_n(lengths)
            self.rows = tf.range(tf.size(lengths[0], tf.int64))
        else:
            *others, last = lengths
            most = room // 2 if max_query_length is None else min(max_query_length, room // 2)
            whole = [tf.minimum(other, most) for other in others]
            room_of_row = room - tf.add_n(whole) if whole else tf.fill(tf.shape(last), tf.constant(room, tf.int64))
            self.is_cut = tf.add_n(whole) < tf.add_n(others) if others else tf.zeros_like(last, tf.bool)
            offsets = tf.ragged.range(tf.maximum(last - room_of_row, 0) + doc_stride, deltas=doc_stride)
            self.rows = offsets.value_rowids()
            begins = [tf.gather(begin, self.rows) for begin in begins]
            begins[-1] += offsets.values
            kept = [tf.gather(length, self.rows) for length in (*whole, last)]
            kept[-1] = tf.minimum(kept[-1] - offsets.values, tf.gather(room_of_row, self.rows))

        # A pool of all pieces of the first text, of the second, then [CLS] and the [SEP]s; sequences are ranges of it.
        ends = tf.cumsum([tf.size(text.values, tf.int64) for text in texts])
        self._num_pieces = ends[-1]
        special = ends[-1] * tf.ones_like(self.rows)
        ranges = [(special, special + 1)]
        for number, (begin, length) in enumerate(zip(begins, kept, strict=True)):
            start = begin + (ends[number - 1] if number else 0)
            ranges += [(start, start + length), (special + number + 1, special + number + 2)]
        starts, limits = (tf.reshape(tf.stack(side, axis=1), [-1]) for side in zip(*ranges, strict=True))
        places = tf.ragged.range(starts, limits)
        self._places = tf.RaggedTensor.from_row_splits(places.values, places.row_splits[:: len(ranges)], validate=False)
        self._last = tf.ragged.range(*ranges[-2])  # the pieces of the last text, in each sequence

    def fill(self, texts: Sequence[tf.Tensor], specials: Sequence[int]) -> tf.RaggedTensor:
        """Arrange values of pieces in sequences.

        Args:
            texts: for each text the values of all its pieces, flat.
            specials: the values of [CLS], the first [SEP] and, for two texts, the second.

        Returns:
            ragged (B, (T)).
        """
        pool = tf.concat([*texts, tf.convert_to_tensor(specials, texts[0].dtype)], 0)
        return self._places.with_values(tf.gather(pool, self._places.values))

    def max_context(self) -> tf.RaggedTensor:
        """Find the sequence that shows most of the last text around each of its pieces, on the side that shows less.

        Where several show as much it is the first.

        Returns:
            ragged (E, (T)) int32, 1 at pieces of the last text that no other sequence shows better, else 0.
        """
        sequences, places = self._last.value_rowids(), self._last.values
        before = places - tf.gather(places, tf.gather(self._last.row_starts(), sequences))
        behind = tf.gather(self._last.row_lengths(), sequences) - 1 - before
        # Of equals, the first is ahead by its number.
        context = tf.minimum(before, behind) * tf.size(self.rows, tf.int64) - sequences
        is_most = context == tf.gather(tf.math.unsorted_segment_max(context, places, self._num_pieces), places)
        # The last text stands before the [SEP] that ends its sequence.
        firsts = self._places.row_limits() - 1 - self._last.row_lengths()
        slots = tf.gather(firsts, sequences) + before
        shape = tf.shape(self._places.values, tf.int64)
        return self._places.with_values(tf.scatter_nd(slots[:, None], tf.cast(is_most, tf.int32), shape))


def longest_first(lengths: Sequence[tf.Tensor], *, room: int) -> list[tf.Tensor]:
    """Choose how many pieces of one or two texts are kept, so that together they are `room` at most.

    The longer text is cut first; once both are equally long, both are, and an odd place goes to the one that was
    longer, or else to the second, as in `tokenizers` (google-research/bert gives the odd place to the first).

    Args:
        lengths: the number of pieces of each text, (B,) int64.
        room: the most pieces of both.

    Returns:
        the number of pieces kept of each text, (B,) int64.
    """
    if len(lengths) == 1:
        return [tf.minimum(lengths[0], room)]
    first, second = lengths
    shorter = tf.minimum(tf.minimum(first, second), room // 2)
    longer = tf.minimum(tf.maximum(first, second), room - shorter)
    first_is_longer = first > second
    return [tf.where(first_is_longer, longer, shorter), tf.where(first_is_longer, shorter, longer)]
