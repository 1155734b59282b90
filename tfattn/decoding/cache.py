"""The keys and values of what a decoder has read."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from keras import ops

Pair = tuple[Any, Any]  # keys and values of a layer, (B, G, S, K) each


class Cache(NamedTuple):
    """What a decoder remembers of B texts, each read to a place of its own.

    Keys are rotated by their positions before they come here, so that it does not matter where they lie: a mask says
    which of them belong to the text. So nothing is ever written into a large tensor: new keys are added to the few
    recent ones, which become past from time to time.

    The first axis of every tensor is that of the rows, so that rows may leave.

    Attributes:
        lengths: (B,) int32, how many tokens of each text were read, the position of its next token.
        past: keys and values of each layer, (B, G, S, K); of what was read long ago.
        past_mask: (B, S) bool, which of them are of the text.
        recent: keys and values of each layer, (B, G, R, K); of what was read last, the newest at the end.
        recent_mask: (B, R) bool.
    """

    lengths: Any
    past: Sequence[Pair]
    past_mask: Any
    recent: Sequence[Pair]
    recent_mask: Any

    @classmethod
    def empty(cls, batch_size: Any, *, num_layers: int, num_groups: int, head_dim: int, dtype: str) -> "Cache":
        """Make a cache of texts of which nothing was read."""
        nothing = ops.zeros((batch_size, num_groups, 0, head_dim), dtype=dtype)
        mask = ops.zeros((batch_size, 0), dtype="bool")
        pairs = [(nothing, nothing)] * num_layers
        return cls(ops.zeros((batch_size,), dtype="int32"), pairs, mask, pairs, mask)

    def visible(self, real: Any) -> Any:
        """Tell what T new tokens may see: what was read, and those of themselves up to their own place.

        Args:
            real: (B, T) bool, which of the new tokens belong to the texts.

        Returns:
            (B, 1, T, S + R + T) bool.
        """
        length = ops.shape(real)[1]
        before = ops.concatenate([self.past_mask, self.recent_mask], axis=1)[:, None, None]
        before = ops.broadcast_to(before, (*ops.shape(before)[:2], length, ops.shape(before)[3]))
        places = ops.arange(length, dtype="int32")
        own = ops.logical_and(places[:, None] >= places, real[:, None, None])
        # A token that only fills sees itself, so that it does not see nothing.
        own = ops.logical_or(own, places[:, None] == places)
        return ops.concatenate([before, own], axis=-1)

    def extended(self, recent: Sequence[Pair], real: Any) -> "Cache":
        """Add T tokens that were read.

        Args:
            recent: keys and values of each layer, (B, G, R + T, K), the new ones last.
            real: as for `visible`.
        """
        return self._replace(
            lengths=self.lengths + ops.sum(ops.cast(real, "int32"), axis=1),
            recent=recent,
            recent_mask=ops.concatenate([self.recent_mask, real], axis=1),
        )

    def without_oldest(self, count: int) -> "Cache":
        """Drop the oldest of the recent positions, which have to be free, so that the shapes stay in a loop."""
        return self._replace(
            recent=[tuple(x[:, :, count:] for x in pair) for pair in self.recent],
            recent_mask=self.recent_mask[:, count:],
        )

    def drop_last(self, count: Any) -> "Cache":
        """Take back the last tokens that were read, such as wrong drafts: (B,) int of each text; they stay hidden."""
        places = ops.arange(ops.shape(self.recent_mask)[1], dtype="int32")
        kept = places < (ops.shape(self.recent_mask)[1] - count)[:, None]
        return self._replace(lengths=self.lengths - count, recent_mask=ops.logical_and(self.recent_mask, kept))

    def merged(self, room: int) -> "Cache":
        """Let what is recent be past, and make room for as many new positions: R of them, all free."""
        past = [
            tuple(ops.concatenate(parts, axis=2) for parts in zip(*pairs, strict=True))
            for pairs in zip(self.past, self.recent, strict=True)
        ]
        batch, groups, _, width = ops.shape(past[0][0])
        empty = ops.zeros((batch, groups, room, width), dtype=past[0][0].dtype)
        return self._replace(
            past=past,
            past_mask=ops.concatenate([self.past_mask, self.recent_mask], axis=1),
            recent=[(empty, empty)] * len(past),
            recent_mask=ops.zeros((batch, room), dtype="bool"),
        )
