"""What a layer of attention keeps of earlier steps: two layouts of keys and values."""

import math
from typing import Any, NamedTuple

from keras import ops

from tfattn.ops.backend import scatter_add


class GrowingCache(NamedTuple):
    """Keys and values in two parts: those of long ago, and the few recent ones, which new ones are added to.

    Nothing is ever written into a large tensor. A mask alone says which keys may be seen.

    Attributes:
        past: keys and values (B, G, S, K).
        recent: keys and values (B, G, R, K), the newest last.
    """

    past: tuple[Any, Any]
    recent: tuple[Any, Any]

    @property
    def beams(self) -> tuple:
        """The axis of beams: there is none."""
        return ()

    @property
    def parts(self) -> list[tuple[Any, Any]]:
        """Pairs of keys and values (B, G, S, K), in the order in which masks count them."""
        return [self.past, self.recent]

    def extended(self, key: Any, value: Any) -> "GrowingCache":
        """Add T positions, (B, G, T, K) each."""
        pairs = zip(self.recent, (key, value), strict=True)
        return self._replace(recent=tuple(ops.concatenate(pair, axis=2) for pair in pairs))


class BeamCache(NamedTuple):
    """Keys and values of W beams of each row, in tensors that have room for all positions.

    A query may see the positions of all W beams of its row: when one beam continues another, nothing is moved and only
    the mask changes, see `masks.continued`.

    Attributes:
        keys, values: (B, G, W, S, K), zeros from `index` on.
        index: how many positions are filled, a scalar tensor.
    """

    keys: Any
    values: Any
    index: Any

    @property
    def beams(self) -> tuple[int]:
        """The axis of beams: W."""
        return (self.keys.shape[2],)

    @property
    def parts(self) -> list[tuple[Any, Any]]:
        """The pair of keys and values, those of all beams of a row end to end: (B, G, W S, K)."""
        return [tuple(ops.reshape(x, (*ops.shape(x)[:2], -1, x.shape[-1])) for x in (self.keys, self.values))]

    def extended(self, key: Any, value: Any) -> "BeamCache":
        """Write T positions, (B, G, W, T, K) each, after those that are filled."""
        keys, values = _put(self.keys, key, self.index), _put(self.values, value, self.index)
        return BeamCache(keys, values, self.index + ops.shape(key)[3])


def _put(cache: Any, new: Any, at: Any) -> Any:
    """Write the T positions of `new` (B, G, W, T, K) into the cache (B, G, W, S, K), from position `at` on."""
    *others, length, width = ops.shape(new)
    steps = ops.shape(cache)[3]
    # Scattered as rows of one matrix: ops.slice_update is, on TensorFlow, a program of XLA, which exports refuse.
    rows = ops.arange(math.prod(others))[:, None] * steps + ops.cast(at, "int32") + ops.arange(length)
    # XLA knows all sizes beforehand; where the room grows there is none, and the zeros are filled where they lie.
    parts = ops.reshape(cache, (-1, width)), ops.reshape(rows, (-1, 1)), ops.reshape(new, (-1, width))
    flat = ops.scatter_update(*parts) if cache.shape[3] is not None else scatter_add(*parts)
    return ops.reshape(flat, ops.shape(cache))
