"""A bidirectional LSTM in a single loop, with optional projection and clipping."""

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from tfattn.errors import ConfigError
from tfattn.ops.recurrence import lstm, scan

DIRECTIONS = ("forward", "backward")


class BidirectionalLstm(keras.layers.Layer):
    """A forward and a backward LSTM, whose outputs are concatenated: (B, T, F) -> (B, T, 2 P).

    The inputs of all positions are projected at once, before the loop, and each step is one product for both
    directions.

    Masks: at padded positions the states do not change. Where `sequence_ids` change, both directions restart.

    Args:
        units: D, the number of cells of each direction.
        projection_dim: P, the width of projected outputs, which are the recurrent inputs; None for no projection,
            P = D.
        cell_clip: the maximum absolute value in a cell; None for no limit.
        projection_clip: the maximum absolute value of projected outputs; None for no limit.
        reads_halves: whether the forward direction reads the first half of each vector and the backward direction the
            second; otherwise both read the whole vector.

    Call arguments:
        x: (B, T, F).
        padding_mask: (B, T) bool, True at real tokens; None if all are real.
        sequence_ids: (B, T) int, the sequence of each position; None if each row is one sequence.

    Returns:
        (B, T, 2 P), the forward outputs, then the backward outputs.

    Example:
        >>> layer = BidirectionalLstm(units=8, projection_dim=4)
        >>> layer(keras.ops.ones((2, 5, 3))).shape
        TensorShape([2, 5, 8])

    Source: see ops/recurrence.py. Recurrent kernels are initialized as in layers/recurrent.py, and forget gates start
    open.
    """

    def __init__(
        self,
        *,
        units: int,
        projection_dim: int | None = None,
        cell_clip: float | None = None,
        projection_clip: float | None = None,
        reads_halves: bool = False,
        **kwargs: Any,
    ):
        # The states are always float32.
        super().__init__(autocast=False, **kwargs)
        self.units = units
        self.projection_dim = projection_dim
        self.cell_clip = cell_clip
        self.projection_clip = projection_clip
        self.reads_halves = reads_halves

    def build(self, input_shape: tuple) -> None:
        width, output = input_shape[-1] // (2 if self.reads_halves else 1), self.projection_dim or self.units
        self._pair("kernel", (width, 4 * self.units), keras.initializers.GlorotUniform)
        self._pair("recurrent_kernel", (output, 4 * self.units), lambda: self._orthogonal)
        self._pair("bias", (4 * self.units,), lambda: self._open)
        if self.projection_dim:
            self._pair("projection", (self.units, output), keras.initializers.GlorotUniform)

    def call(self, x: Any, padding_mask: Any = None, sequence_ids: Any = None) -> Any:
        x = ops.cast(x, self.compute_dtype)
        inputs = ops.stack(ops.split(x, 2, axis=-1) if self.reads_halves else [x, x])
        states = _in_text_order(self._states(inputs, padding_mask, sequence_ids))
        return ops.cast(ops.concatenate(ops.unstack(states, 2, axis=0), axis=-1), self.compute_dtype)

    def _states(self, x: Any, padding_mask: Any, sequence_ids: Any) -> Any:
        """Return h after each position, in reading order: (2, B, T, F) -> (T, 2, B, P)."""
        x = _in_reading_order(x)
        kernel, recurrent_kernel, bias = (self.both(name) for name in ("kernel", "recurrent_kernel", "bias"))
        projection = self.both("projection") if self.projection_dim else None
        clips = {"cell_clip": self.cell_clip, "projection_clip": self.projection_clip}
        length, _, rows, width = ops.shape(x)
        # One product for all positions: (T, 2, B, F) -> (2, T B, 4 D) -> (T, 2, B, 4 D)
        inputs = ops.matmul(ops.reshape(ops.swapaxes(x, 0, 1), (2, -1, width)), kernel)
        inputs = inputs + bias[:, None]
        inputs = ops.swapaxes(ops.reshape(inputs, (2, length, rows, 4 * self.units)), 0, 1)

        def step(state: tuple, inputs: Any) -> tuple:
            recurrent = ops.matmul(ops.cast(state[0], self.compute_dtype), recurrent_kernel)
            return lstm(inputs, recurrent, state, projection, **clips)

        empty = tuple(
            ops.zeros((2, rows, units), "float32") for units in (self.projection_dim or self.units, self.units)
        )
        real = None if padding_mask is None else ops.stack([ops.cast(padding_mask, "bool")] * 2)
        restarts = None if sequence_ids is None else _restarts(sequence_ids)
        real, restarts = (None if mask is None else _in_reading_order(mask) for mask in (real, restarts))
        return scan(step, empty, inputs, real=real, restarts=restarts)[0]

    def both(self, name: str) -> Any:
        """Return a weight of both directions, (2, ...), in the type that products are computed in."""
        return ops.stack([ops.cast(getattr(self, f"{way}_{name}"), self.compute_dtype) for way in DIRECTIONS])

    def _pair(self, name: str, shape: tuple, initializer: Callable[[], Any]) -> None:
        for direction in DIRECTIONS:
            weight = self.add_weight(name=f"{direction}_{name}", shape=shape, initializer=initializer())
            setattr(self, f"{direction}_{name}", weight)

    def _orthogonal(self, shape: tuple, dtype: str) -> Any:
        # An initializer returns the same values at each call, so that each gate needs its own.
        gate = (shape[0], self.units)
        return ops.concatenate([keras.initializers.Orthogonal()(gate, dtype) for _ in range(4)], axis=1)

    def _open(self, shape: tuple, dtype: str) -> Any:
        return ops.repeat(ops.convert_to_tensor([0.0, 1.0, 0.0, 0.0], dtype), self.units)


def check_halves(hidden_dim: int) -> None:
    """Check that two directions can share a width.

    Raises:
        ConfigError: the width is odd.
    """
    if hidden_dim % 2:
        raise ConfigError(
            "the width cannot be halved for the two directions",
            key="hidden_dim",
            expected="an even number",
            received=str(hidden_dim),
        )


def _in_reading_order(x: Any) -> Any:
    """Order positions as each direction reads them: (2, B, T, ...) -> (T, 2, B, ...)."""
    first, second = ops.unstack(x, 2, axis=0)
    return ops.stack([ops.swapaxes(first, 0, 1), ops.swapaxes(ops.flip(second, axis=1), 0, 1)], axis=1)


def _in_text_order(x: Any) -> Any:
    """Undo `_in_reading_order`: (T, 2, B, ...) -> (2, B, T, ...)."""
    first, second = ops.unstack(x, 2, axis=1)
    return ops.stack([ops.swapaxes(first, 0, 1), ops.flip(ops.swapaxes(second, 0, 1), axis=1)], axis=0)


def _restarts(sequence_ids: Any) -> Any:
    """Find the first position of each sequence in each direction: (B, T) int -> (2, B, T) bool.

    Args:
        sequence_ids: the sequence of each position; the positions of a sequence are adjacent.
    """
    differs = sequence_ids[:, 1:] != sequence_ids[:, :-1]
    edge = ops.ones_like(sequence_ids[:, :1], dtype="bool")
    return ops.stack([ops.concatenate(pair, axis=1) for pair in ((edge, differs), (differs, edge))])
