"""Packing of one or two texts into sequences, [CLS] a [SEP] or [CLS] a [SEP] b [SEP], with truncation or windows."""

from collections.abc import Sequence
from typing import NotRequired

import tensorflow as tf
from typing_extensions import TypedDict

from tfattn.errors import ConfigError
from tfattn.preprocessing.preprocessor import Located, Preprocessor


class SequenceSettings(TypedDict):
    """The settings of sequences in tokenizer_config.json."""

    model_max_length: int
    doc_stride: int | None
    max_query_length: NotRequired[int | None]
    located: NotRequired[Located | None]
    fields: list[str]


class TextSequences(Preprocessor):
    """The base class of tokenizers that pack one text or two into a sequence.

    Args:
        fields: the names of the texts of a sequence.
        max_length, doc_stride, max_query_length: see `Layout`.
        num_marks: the number of special tokens of a sequence.
        marks: the name of the special tokens in messages.

    Raises:
        ConfigError: the limits leave no room for text, or text between two windows, or there are not one or two texts.
    """

    def __init__(
        self,
        fields: tuple[str, ...],
        *,
        max_length: int,
        doc_stride: int | None,
        num_marks: int,
        marks: str,
        max_query_length: int | None = None,
    ):
        super().__init__()
        self.fields = fields
        self.max_length = max_length
        self.doc_stride = doc_stride
        self.max_query_length = max_query_length
        self.located: Located | None = None
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
        # The room for windows of the last text if the first text has its maximum length.
        first = min(left // 2, left if max_query_length is None else max_query_length)
        room = left - first * (len(fields) - 1)
        if doc_stride is not None and doc_stride > room:
            raise ConfigError(
                "there would be text between two windows",
                key="doc_stride",
                expected=f"at most {room} for max_length {max_length}",
                received=str(doc_stride),
            )

    def locate(self, what: Located) -> None:
        self.located = what

    @property
    def max_tokens(self) -> int | None:
        return self.max_length if self.doc_stride is None else None

    @property
    def sequence_settings(self) -> SequenceSettings:
        """The settings that `save` writes."""
        return {
            "model_max_length": self.max_length,
            "doc_stride": self.doc_stride,
            **({} if self.max_query_length is None else {"max_query_length": self.max_query_length}),
            **({} if self.located is None else {"located": self.located}),
            "fields": list(self.fields),
        }

    @sequence_settings.setter
    def sequence_settings(self, settings: SequenceSettings) -> None:
        self.max_length, self.doc_stride = settings["model_max_length"], settings["doc_stride"]
        self.max_query_length, self.located = settings.get("max_query_length"), settings.get("located")
        self.fields = tuple(settings["fields"])

    def layout(self, texts: Sequence[tf.RaggedTensor]) -> "Layout":
        """Return the layout of the pieces of the texts, each ragged (B, (T))."""
        return Layout(
            texts, max_length=self.max_length, doc_stride=self.doc_stride, max_query_length=self.max_query_length
        )


class Layout:
    """The layout of a batch of sequences: the source text of each token.

    Args:
        texts: the pieces of the one or two texts, each ragged (B, (T)); only the lengths are used.
        max_length: the maximum length of a sequence, [CLS] and [SEP]s included.
        doc_stride: the distance between windows of a long last text, in pieces; None to truncate it to a single
            sequence. With windows, the first of two texts has at most half of the room.
        max_query_length: a lower limit for the first of two texts.
        separators: the number of [SEP]s between two texts.

    Attributes:
        is_cut: (B,) bool, whether pieces were cut.
        rows: (E,) int64, the row of each sequence.
    """

    def __init__(
        self,
        texts: Sequence[tf.RaggedTensor],
        *,
        max_length: int,
        doc_stride: int | None = None,
        max_query_length: int | None = None,
        separators: int = 1,
    ):
        lengths = [text.row_lengths() for text in texts]
        room = max_length - len(texts) - 1 - (separators - 1) * (len(texts) - 1)
        text_starts = [text.row_starts() for text in texts]
        if doc_stride is None:
            kept = longest_first(lengths, room=room)
            self.is_cut = tf.add_n(kept) < tf.add_n(lengths)
            self.rows = tf.range(tf.size(lengths[0], tf.int64))
        else:
            *others, last = lengths
            limit = room // 2 if max_query_length is None else min(max_query_length, room // 2)
            whole = [tf.minimum(other, limit) for other in others]
            room_of_row = room - tf.add_n(whole) if whole else tf.fill(tf.shape(last), tf.constant(room, tf.int64))
            self.is_cut = tf.add_n(whole) < tf.add_n(others) if others else tf.zeros_like(last, tf.bool)
            offsets = tf.ragged.range(tf.maximum(last - room_of_row, 0) + doc_stride, deltas=doc_stride)
            self.rows = offsets.value_rowids()
            text_starts = [tf.gather(start, self.rows) for start in text_starts]
            text_starts[-1] += offsets.values
            kept = [tf.gather(length, self.rows) for length in (*whole, last)]
            kept[-1] = tf.minimum(kept[-1] - offsets.values, tf.gather(room_of_row, self.rows))

        # The pool has all pieces of the first text, of the second text, then [CLS] and [SEP]s.
        ends = tf.cumsum([tf.size(text.values, tf.int64) for text in texts])
        self._num_pieces = ends[-1]
        special = ends[-1] * tf.ones_like(self.rows)
        ranges = [(special, special + 1)]
        for number, (start, length) in enumerate(zip(text_starts, kept, strict=True)):
            start += ends[number - 1] if number else 0
            after = (special + number + 1, special + number + 2)
            ranges += [(start, start + length), *[after] * (separators if number < len(texts) - 1 else 1)]
        starts, limits = (tf.reshape(tf.stack(side, axis=1), [-1]) for side in zip(*ranges, strict=True))
        indices = tf.ragged.range(starts, limits)
        self._indices = tf.RaggedTensor.from_row_splits(
            indices.values, indices.row_splits[:: len(ranges)], validate=False
        )
        self._last = tf.ragged.range(*ranges[-2])  # the pieces of the last text, in each sequence

    def fill(self, texts: Sequence[tf.Tensor], specials: Sequence[int]) -> tf.RaggedTensor:
        """Arrange the values of pieces in sequences.

        Args:
            texts: for each text the values of all its pieces, flat.
            specials: the values of [CLS], the first [SEP] and, for two texts, the second.

        Returns:
            ragged (B, (T)).
        """
        pool = tf.concat([*texts, tf.convert_to_tensor(specials, texts[0].dtype)], 0)
        return self._indices.with_values(tf.gather(pool, self._indices.values))

    def max_context(self) -> tf.RaggedTensor:
        """Find the sequence with the maximum context of each piece of the last text (BERT's max context).

        The context of a piece is the smaller number of pieces before and after it. The first sequence wins ties.

        Returns:
            ragged (E, (T)) int32, 1 at pieces of the last text that have their maximum context, else 0.
        """
        sequences, indices = self._last.value_rowids(), self._last.values
        before = indices - tf.gather(indices, tf.gather(self._last.row_starts(), sequences))
        after = tf.gather(self._last.row_lengths(), sequences) - 1 - before
        # The first sequence wins ties.
        context = tf.minimum(before, after) * tf.size(self.rows, tf.int64) - sequences
        is_most = context == tf.gather(tf.math.unsorted_segment_max(context, indices, self._num_pieces), indices)
        # The last text ends before the final [SEP].
        firsts = self._indices.row_limits() - 1 - self._last.row_lengths()
        slots = tf.gather(firsts, sequences) + before
        shape = tf.shape(self._indices.values, tf.int64)
        return self._indices.with_values(tf.scatter_nd(slots[:, None], tf.cast(is_most, tf.int32), shape))


def longest_first(lengths: Sequence[tf.Tensor], *, room: int) -> list[tf.Tensor]:
    """Compute how many pieces of one or two texts to keep, with a total of at most `room`.

    The longer text is cut first, then both alike. An odd piece goes to the longer text, or else to the second, as in
    `tokenizers` (google-research/bert gives it to the first).

    Args:
        lengths: the number of pieces of each text, (B,) int64.
        room: the maximum total.

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
