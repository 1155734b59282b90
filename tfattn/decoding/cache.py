"""The key/value cache of a decoder."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from keras import ops

Pair = tuple[Any, Any]  # keys and values of a layer, (B, G, S, K) each


class Cache(NamedTuple):
    """The keys and values of B texts of different lengths.

    Cached keys are already rotated by their positions, so that their order does not matter: a mask selects the keys of
    a text. Large tensors are therefore never updated: new keys are appended to a few recent keys, which are merged into
    the past from time to time.

    Rows are the first axis of every tensor, so that finished rows can be removed.

    Attributes:
        lengths: (B,) int32, the number of tokens read of each text, the position of its next token.
        past: keys and values of each layer, (B, G, S, K), of earlier tokens.
        past_mask: (B, S) bool, True at tokens of the text.
        recent: keys and values of each layer, (B, G, R, K), of the last tokens, the newest at the end.
        recent_mask: (B, R) bool, True at tokens of the text.
    """

    lengths: Any
    past: Sequence[Pair]
    past_mask: Any
    recent: Sequence[Pair]
    recent_mask: Any

    @classmethod
    def empty(cls, batch_size: Any, *, num_layers: int, num_groups: int, head_dim: int, dtype: str) -> "Cache":
        """Create the cache of empty texts."""
        empty = ops.zeros((batch_size, num_groups, 0, head_dim), dtype=dtype)
        mask = ops.zeros((batch_size, 0), dtype="bool")
        pairs = [(empty, empty)] * num_layers
        return cls(ops.zeros((batch_size,), dtype="int32"), pairs, mask, pairs, mask)

    def visible(self, real: Any) -> Any:
        """Compute the mask of T new tokens, which see the cached tokens and the new tokens up to themselves.

        Args:
            real: (B, T) bool, True at new tokens of the texts.

        Returns:
            (B, 1, T, S + R + T) bool.
        """
        length = ops.shape(real)[1]
        before = ops.concatenate([self.past_mask, self.recent_mask], axis=1)[:, None, None]
        before = ops.broadcast_to(before, (*ops.shape(before)[:2], length, ops.shape(before)[3]))
        positions = ops.arange(length, dtype="int32")
        own = ops.logical_and(positions[:, None] >= positions, real[:, None, None])
        # Padding sees itself, so that every query sees a key.
        own = ops.logical_or(own, positions[:, None] == positions)
        return ops.concatenate([before, own], axis=-1)

    def positions(self) -> Any:
        """Return the position of each cached token, (B, S + R) int32; of free positions, which are masked, any."""
        is_token = ops.concatenate([self.past_mask, self.recent_mask], axis=1)
        return ops.cumsum(ops.cast(is_token, "int32"), axis=1) - 1

    def extended(self, recent: Sequence[Pair], real: Any) -> "Cache":
        """Add T tokens.

        Args:
            recent: keys and values of each layer, (B, G, R + T, K), the new tokens last.
            real: as for `visible`.
        """
        return self._replace(
            lengths=self.lengths + ops.sum(ops.cast(real, "int32"), axis=1),
            recent=recent,
            recent_mask=ops.concatenate([self.recent_mask, real], axis=1),
        )

    def drop_first(self, count: int) -> "Cache":
        """Drop the first recent positions, which must be free, so that the shapes do not change in a loop."""
        return self._replace(
            recent=[tuple(x[:, :, count:] for x in pair) for pair in self.recent],
            recent_mask=self.recent_mask[:, count:],
        )

    def drop_last(self, count: Any) -> "Cache":
        """Hide the last tokens of each text, such as rejected drafts: `count` is (B,) int."""
        positions = ops.arange(ops.shape(self.recent_mask)[1], dtype="int32")
        kept = positions < (ops.shape(self.recent_mask)[1] - count)[:, None]
        return self._replace(lengths=self.lengths - count, recent_mask=ops.logical_and(self.recent_mask, kept))

    def merged(self, room: int) -> "Cache":
        """Merge the recent positions into the past, and add `room` free recent positions."""
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
