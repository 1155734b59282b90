"""A record of what layers of attention looked at, for who wants to see it."""

from collections.abc import Callable
from typing import Any, NamedTuple

from keras import ops

# Which attention of a model: of an encoder or a decoder to itself, or of a decoder to what the encoder read.
ENCODER, DECODER, CROSS = "encoder", "decoder", "cross"

Record = Callable[[Any, Any, Any], None]  # takes the weights (B, H, T, S), queries (B, H, T, K) and keys (B, H, S, K)


class Attention(NamedTuple):
    """The attention of all L layers of a part of a model.

    Attributes:
        weights: (B, L, H, T, S) float32; each row of S sums to 1.
        queries: (B, L, H, T, K) float32, of which weights are the softmax of their products with keys, divided by
            sqrt(K), where nothing is hidden. None where scores are no such products.
        keys: (B, L, H, S, K) float32; None likewise.
    """

    weights: Any
    queries: Any = None
    keys: Any = None


class AttentionRecord:
    """Collects what layers tell that were given one of its records, in the order of the layers.

    It is an argument of one call, and not a state of any layer: who passes none lets layers compute as ever, and what
    is traced with one is a function of its own.

    Example:
        >>> from tfattn.layers.multi_head_attention import MultiHeadAttention
        >>> record, x = AttentionRecord(), ops.ones((1, 5, 8))
        >>> _ = MultiHeadAttention(num_heads=2)(x, record=record.of("encoder"))
        >>> record.stacked()["encoder"].weights.shape
        TensorShape([1, 1, 2, 5, 5])
    """

    def __init__(self):
        self._layers: dict[str, list[Attention]] = {}

    def of(self, part: str) -> Record:
        """Return what the layers of a part are given to tell what they look at."""
        layers = self._layers.setdefault(part, [])
        return lambda weights, queries=None, keys=None: layers.append(Attention(weights, queries, keys))

    def stacked(self) -> dict[str, Attention]:
        """Put the layers of each part together."""
        told = {part: layers for part, layers in self._layers.items() if layers}
        return {part: Attention(*map(_stacked, zip(*layers, strict=True))) for part, layers in told.items()}


def recorded(record: AttentionRecord | None, part: str) -> Record | None:
    """Return the record of a part; None where none is kept."""
    return None if record is None else record.of(part)


def _stacked(layers: tuple) -> Any:
    return None if layers[0] is None else ops.stack([ops.cast(one, "float32") for one in layers], axis=1)
