"""GRU and LSTM layers."""

from typing import Any

import keras
from keras import ops

from tfattn.layers.projection import Projection
from tfattn.ops.recurrence import gru, lstm, scan_rows

# By name of the cell: its step, its number of gates and candidates, and the number of tensors of its state.
CELLS = {"gru": (gru, 3, 1), "lstm": (lstm, 4, 2)}
FORGET_GATE = 1  # its index among the gates of an LSTM


class Cell(keras.layers.Layer):
    """One step of a GRU or LSTM with projected inputs.

    Args:
        units: the width D of the state.
        cell: gru or lstm.

    Call arguments:
        inputs: (B, gates * D), 3 gates of a GRU, 4 of an LSTM.
        state: a tuple of (B, D) float32: h of a GRU, h and c of an LSTM.

    Returns:
        the new state; its first tensor is the output.

    Example:
        >>> cell = Cell(units=8)
        >>> (h,) = cell(keras.ops.ones((2, 24)), cell.empty_state(2))
        >>> h.shape
        TensorShape([2, 8])

    Source: see ops/recurrence.py. The recurrent kernel of each gate is drawn orthogonal (Saxe et al.
    2014), and the forget gate of an LSTM starts open by a bias of 1 (Jozefowicz et al. 2015).
    """

    def __init__(self, *, units: int, cell: str = "gru", **kwargs: Any):
        # The state is always float32.
        super().__init__(autocast=False, **kwargs)
        self.units = units
        self.cell = cell
        self.advance, self.num_gates, self.num_states = CELLS[cell]

    def build(self, input_shape: tuple) -> None:
        shape = (self.units, self.num_gates * self.units)
        self.recurrent_kernel = self.add_weight(name="recurrent_kernel", shape=shape, initializer=self._orthogonal)
        self.recurrent_bias = self.add_weight(name="recurrent_bias", shape=shape[1:], initializer=self._open)

    def empty_state(self, batch_size: Any) -> tuple:
        """Return the state before the first step: zeros."""
        return tuple(ops.zeros((batch_size, self.units), "float32") for _ in range(self.num_states))

    def call(self, inputs: Any, state: tuple) -> tuple:
        kernel, bias = (ops.cast(v, self.compute_dtype) for v in (self.recurrent_kernel, self.recurrent_bias))
        recurrent = ops.matmul(ops.cast(state[0], self.compute_dtype), kernel) + bias
        return self.advance(inputs, recurrent, state)

    def _orthogonal(self, shape: tuple, dtype: str) -> Any:
        # An initializer returns the same values at each call, so that each gate needs its own.
        square = (self.units, self.units)
        return ops.concatenate([keras.initializers.Orthogonal()(square, dtype) for _ in range(self.num_gates)], axis=1)

    def _open(self, shape: tuple, dtype: str) -> Any:
        gates = [float(self.cell == "lstm" and gate == FORGET_GATE) for gate in range(self.num_gates)]
        return ops.repeat(ops.convert_to_tensor(gates, dtype), self.units)


class Recurrent(keras.layers.Layer):
    """A GRU or LSTM over a whole sequence: (B, T, F) -> (B, T, D).

    The inputs of all positions are projected at once, before the loop over them.

    Masks: at a padded position state and output do not change. The last output of a padded sequence is the output of
    its last real token.

    Args:
        units: the width D of output and state.
        cell: gru or lstm.
        go_backwards: whether to read from the last position to the first; the output at a position then depends on
            later positions.

    Call arguments:
        x: (B, T, F).
        padding_mask: (B, T) bool, True at real tokens; None if all are real.
        initial_state: the cell's state before the first step; None for zeros.

    Returns:
        (B, T, D).

    Example:
        >>> layer = Recurrent(units=8)
        >>> layer(keras.ops.ones((2, 5, 4))).shape
        TensorShape([2, 5, 8])
    """

    def __init__(self, *, units: int, cell: str = "gru", go_backwards: bool = False, **kwargs: Any):
        super().__init__(autocast=False, **kwargs)
        self.units = units
        self.cell = cell
        self.go_backwards = go_backwards

    def build(self, input_shape: tuple) -> None:
        policy = {"dtype": self.dtype_policy}
        self.transition = Cell(units=self.units, cell=self.cell, name="cell", **policy)
        self.input_projection = Projection(
            units=self.transition.num_gates * self.units, initializer_range=None, name="input", **policy
        )
        self.input_projection.build(input_shape)
        self.transition.build((input_shape[0], self.input_projection.units))

    def call(self, x: Any, padding_mask: Any = None, initial_state: tuple | None = None) -> Any:
        state = self.transition.empty_state(ops.shape(x)[0]) if initial_state is None else initial_state
        inputs = self.input_projection(x)
        step = lambda state, inputs: self.transition(inputs, state)  # noqa: E731
        outputs = scan_rows(step, state, inputs, padding_mask, reverse=self.go_backwards)[0]
        return ops.cast(outputs, self.compute_dtype)

    def step(self, x: Any, state: tuple) -> tuple:
        """Read one more position, x (B, F), and return the new state."""
        return self.transition(self.input_projection(x), state)


class Bidirectional(keras.layers.Layer):
    """A GRU or LSTM in each direction, whose outputs are concatenated: (B, T, F) -> (B, T, D).

    Masks: padded positions never change the outputs at real positions.

    Args:
        units: the width D of the output, an even number; each direction has half of it.
        cell: gru or lstm.

    Call arguments:
        x: (B, T, F).
        padding_mask: (B, T) bool, True at real tokens; None if all are real.

    Returns:
        (B, T, D).

    Example:
        >>> layer = Bidirectional(units=8)
        >>> layer(keras.ops.ones((2, 5, 4))).shape
        TensorShape([2, 5, 8])

    Source: Schuster and Paliwal 1997, "Bidirectional recurrent neural networks"; Bahdanau et al. 2015, section 3.2.
    """

    def __init__(self, *, units: int, cell: str = "gru", **kwargs: Any):
        super().__init__(autocast=False, **kwargs)
        self.units = units
        self.cell = cell

    def build(self, input_shape: tuple) -> None:
        common = {"units": self.units // 2, "cell": self.cell, "dtype": self.dtype_policy}
        self.forward = Recurrent(name="forward", **common)
        self.backward = Recurrent(name="backward", go_backwards=True, **common)
        self.forward.build(input_shape)
        self.backward.build(input_shape)

    def call(self, x: Any, padding_mask: Any = None) -> Any:
        return ops.concatenate([self.forward(x, padding_mask), self.backward(x, padding_mask)], axis=-1)

    def last_states(self, outputs: Any) -> Any:
        """Return the last outputs of both directions, concatenated: (B, T, D) of a call -> (B, D)."""
        forward, backward = ops.split(outputs, 2, axis=-1)
        return ops.concatenate([forward[:, -1], backward[:, 0]], axis=-1)
