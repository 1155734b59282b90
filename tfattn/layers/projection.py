"""A linear map of the last axis."""

from typing import Any

import keras
from keras import ops

from tfattn.ops.backend import inferred


class Projection(keras.layers.Layer):
    """A linear map of the last axis: (..., D) -> (..., units).

    It is equivalent to keras.layers.Dense, but computed as a single matrix product. For inputs of rank 3 Dense
    multiplies row by row, and the gradient of its kernel is a sum of B products; a single product is two to three times
    faster on a CPU.

    An adapter may add to the output, see layers/adapters.py.

    Masks: positions are independent of each other.

    Args:
        units: the width of the output; or a tuple of widths, if the kernel consists of several maps whose outputs are
            concatenated. The result is the same; an optimizer may treat each map as a matrix.
        use_bias: whether a learned vector is added.
        initializer_range: the standard deviation of the kernel's truncated normal distribution; None for Glorot uniform
            (Glorot and Bengio 2010, eq. 16).
        targets: the name of each map, by which adapters choose the map; empty for maps without an adapter.

    Attributes:
        adapter: the layer of an adapter, or None.

    Example:
        >>> layer = Projection(units=6)
        >>> layer(keras.ops.ones((2, 3, 4))).shape
        TensorShape([2, 3, 6])
    """

    def __init__(
        self,
        *,
        units: int | tuple[int, ...],
        use_bias: bool = True,
        initializer_range: float | None = 0.02,
        targets: tuple[str, ...] = (),
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.maps = (units,) if isinstance(units, int) else tuple(units)
        self.units = sum(self.maps)
        self.use_bias = use_bias
        self.initializer_range = initializer_range
        self.targets = tuple(targets)
        self.adapter: keras.layers.Layer | None = None

    def build(self, input_shape: tuple) -> None:
        by_widths = self.initializer_range is None
        initializers = keras.initializers
        initializer = (
            initializers.GlorotUniform() if by_widths else initializers.TruncatedNormal(stddev=self.initializer_range)
        )
        self.kernel = self.add_weight(name="kernel", shape=(input_shape[-1], self.units), initializer=initializer)
        self.kernel.maps = self.maps
        if self.use_bias:
            self.bias = self.add_weight(name="bias", shape=(self.units,), initializer="zeros")

    def set_adapter(self, adapter: keras.layers.Layer | None) -> None:
        """Set the layer of an adapter, or remove it; the kernel does not change."""
        # Keras locks the weights of a built layer; its own adapters (`Dense.enable_lora`) unlock them in this way.
        self._tracker.unlock()
        if self.adapter is not None:
            self._tracker.untrack(self.adapter)
        self.adapter = adapter
        self._tracker.lock()

    def call(self, x: Any, training: bool = False) -> Any:
        shape = inferred(x)
        x = ops.reshape(x, (-1, shape[-1]))
        output = ops.matmul(x, self.kernel)
        output = output + self.bias if self.use_bias else output
        output = output if self.adapter is None else output + self.adapter(x, training=training)
        return ops.reshape(output, (*shape[:-1], self.units))
