"""Key/value caches of an attention layer, in two layouts."""

import math
from typing import Any, NamedTuple

from keras import ops

from tfattn.ops.backend import scatter_add


class GrowingCache(NamedTuple):
    """Keys and values in two parts: past positions, and a few recent positions, to which new positions are appended.

    No large tensor is ever updated. A mask alone selects the visible keys.

    Attributes:
        past: keys and values (B, G, S, K).
        recent: keys and values (B, G, R, K), the newest last; None before any.
    """

    past: tuple[Any, Any]
    recent: tuple[Any, Any] | None

    @property
    def beams(self) -> tuple:
        """Return the axis of beams: there is none."""
        return ()

    @property
    def parts(self) -> list[tuple[Any, Any]]:
        """Return pairs of keys and values (B, G, S, K), in the order of masks."""
        return [self.past, self.recent]

    def extended(self, key: Any, value: Any) -> "GrowingCache":
        """Add T positions, (B, G, T, K) each."""
        if self.recent is None:
            return self._replace(recent=(key, value))
        pairs = zip(self.recent, (key, value), strict=True)
        return self._replace(recent=tuple(ops.concatenate(pair, axis=2) for pair in pairs))


class BeamCache(NamedTuple):
    """Keys and values of W beams of each row, in tensors with room for all positions.

    A query may see the positions of all W beams of its row: when a beam continues another beam, nothing is copied and
    only the mask changes, see `masks.continued`.

    Attributes:
        keys, values: (B, G, W, S, K), zeros from `index` on.
        index: the number of filled positions, a scalar tensor.
    """

    keys: Any
    values: Any
    index: Any

    @property
    def beams(self) -> tuple[int]:
        """Return the axis of beams: W."""
        return (self.keys.shape[2],)

    @property
    def parts(self) -> list[tuple[Any, Any]]:
        """Return keys and values with the beams of each row concatenated: (B, G, W S, K)."""
        return [tuple(ops.reshape(x, (*ops.shape(x)[:2], -1, x.shape[-1])) for x in (self.keys, self.values))]

    def extended(self, key: Any, value: Any) -> "BeamCache":
        """Write T positions, (B, G, W, T, K) each, after the filled positions."""
        keys, values = _put(self.keys, key, self.index), _put(self.values, value, self.index)
        return BeamCache(keys, values, self.index + ops.shape(key)[3])


def _put(cache: Any, new: Any, at: Any) -> Any:
    """Write the T positions of `new` (B, G, W, T, K) into the cache (B, G, W, S, K), from position `at` on."""
    *others, length, width = ops.shape(new)
    steps = ops.shape(cache)[3]
    # Scattered as rows of one matrix: on TensorFlow ops.slice_update is an XLA operation, which exports cannot hold.
    rows = ops.arange(math.prod(others))[:, None] * steps + ops.cast(at, "int32") + ops.arange(length)
    # With XLA all sizes are static. Without it the cache grows, and its zeros are filled in place.
    parts = ops.reshape(cache, (-1, width)), ops.reshape(rows, (-1, 1)), ops.reshape(new, (-1, width))
    flat = ops.scatter_update(*parts) if cache.shape[3] is not None else scatter_add(*parts)
    return ops.reshape(flat, ops.shape(cache))
