"""A record of the attention of all layers."""

from collections.abc import Callable
from typing import Any, NamedTuple

from keras import ops

# The parts of a model: self-attention of an encoder or of a decoder, and cross-attention from decoder to encoder.
ENCODER, DECODER, CROSS = "encoder", "decoder", "cross"

# Takes the weights (B, H, T, S); the queries (B, H, T, K) and keys (B, H, S, K) if they determine the weights; and as
# `values`, if a layer has them, the values (B, H, S, K).
Record = Callable[..., None]


class Attention(NamedTuple):
    """The attention of all L layers of a part of a model.

    Attributes:
        weights: (B, L, H, T, S) float32; each row of S sums to 1.
        queries: (B, L, H, T, K) float32; without a mask the weights are the softmax of the products of queries and
            keys, divided by sqrt(K). None for other score functions.
        keys: (B, L, H, S, K) float32, or None.
    """

    weights: Any
    queries: Any = None
    keys: Any = None


class AttentionRecord:
    """A collection of the attention of layers, in the order of the layers.

    It is an argument of a call, not the state of a layer: calls without a record compute nothing in addition, and a
    call with a record is traced as a separate function.

    Example:
        >>> from tfattn.layers.multi_head_attention import MultiHeadAttention
        >>> record, x = AttentionRecord(), ops.ones((1, 5, 8))
        >>> _ = MultiHeadAttention(num_heads=2)(x, record=record.of("encoder"))
        >>> record.stacked()["encoder"].weights.shape
        TensorShape([1, 1, 2, 5, 5])
    """

    def __init__(self):
        self._layers: dict[str, list[Attention]] = {}
        self._values: dict[str, Any] = {}

    def of(self, part: str) -> Record:
        """Return the function with which the layers of a part record their attention."""
        layers = self._layers.setdefault(part, [])

        def record(weights: Any, queries: Any = None, keys: Any = None, *, values: Any = None) -> None:
            layers.append(Attention(weights, queries, keys))
            self._values[part] = values

        return record

    def last(self, part: str) -> tuple[Any, Any]:
        """Return the weights (B, H, T, S) of the last layer of a part, and its values (B, H, S, K), or None."""
        return self._layers[part][-1].weights, self._values[part]

    def stacked(self) -> dict[str, Attention]:
        """Stack the layers of each part."""
        parts = {part: layers for part, layers in self._layers.items() if layers}
        return {part: Attention(*map(_stacked, zip(*layers, strict=True))) for part, layers in parts.items()}


def recorded(record: AttentionRecord | None, part: str) -> Record | None:
    """Return the record function of a part, or None without a record."""
    return None if record is None else record.of(part)


def recording(record: AttentionRecord | None) -> dict[str, AttentionRecord]:
    """Return the argument with which a model is called; no argument without a record, which not all models take."""
    return {} if record is None else {"record": record}


def _stacked(layers: tuple) -> Any:
    return None if layers[0] is None else ops.stack([ops.cast(x, "float32") for x in layers], axis=1)
