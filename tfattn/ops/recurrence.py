"""Recurrent networks: one step of a GRU or an LSTM, and the loop over the positions of a sequence.

All compute in float32 whatever the type of the products that they read: a state in bfloat16 would lose what a step adds
to it, and on a CPU the same steps in bfloat16 take as long.
"""

from collections.abc import Callable
from typing import Any

from keras import ops, tree


def gru(inputs: Any, recurrent: Any, state: tuple) -> tuple:
    """Take one step of a gated recurrent unit (GRU).

    With gates z and r, h' = (1 - z) n + z h and n = tanh(x W_n + r (h U_n + b_n)).

    Args:
        inputs: (B, 3 D), x W + b for z, r and n side by side.
        recurrent: (B, 3 D), h U + b for the same.
        state: of one tensor, h (B, D) float32.

    Returns:
        the new state, of one tensor (B, D) float32.

    Source: Cho et al. 2014, "Learning phrase representations using RNN encoder-decoder", eq. 5 to 8. Unlike there, r
    acts on the product h U_n and not on h, so that a step takes one product of matrices and not two.
    """
    (h,) = state
    input_z, input_r, input_n = _parts(inputs, 3)
    recurrent_z, recurrent_r, recurrent_n = _parts(recurrent, 3)
    z = ops.sigmoid(input_z + recurrent_z)
    n = ops.tanh(input_n + ops.sigmoid(input_r + recurrent_r) * recurrent_n)
    return (n + z * (h - n),)


def lstm(inputs: Any, recurrent: Any, state: tuple) -> tuple:
    """Take one step of a long short-term memory (LSTM).

    With gates i, f and o, c' = f c + i g, h' = o tanh(c') and g = tanh(x W_g + h U_g).

    Args:
        inputs: (B, 4 D), x W + b for i, f, g and o side by side.
        recurrent: (B, 4 D), h U + b for the same.
        state: of two tensors, h and c, both (B, D) float32.

    Returns:
        the new state, of two tensors (B, D) float32.

    Source: Hochreiter and Schmidhuber 1997, "Long short-term memory", with the forget gate of Gers et al. 2000.
    """
    _, c = state
    input_i, input_f, input_g, input_o = _parts(inputs, 4)
    recurrent_i, recurrent_f, recurrent_g, recurrent_o = _parts(recurrent, 4)
    c = ops.sigmoid(input_f + recurrent_f) * c + ops.sigmoid(input_i + recurrent_i) * ops.tanh(input_g + recurrent_g)
    return ops.sigmoid(input_o + recurrent_o) * ops.tanh(c), c


def projected_lstm(
    inputs: Any,
    recurrent: Any,
    state: tuple,
    projection: Any,
    *,
    cell_clip: float | None = None,
    projection_clip: float | None = None,
) -> tuple:
    """Take one step of an LSTM whose output is projected to P numbers, which alone are read again.

    With gates i, f and o, c' = clip(f c + i g) and h' = clip(P o tanh(c')).

    Args:
        inputs: (..., 4 D), x W + b for i, f, g and o side by side.
        recurrent: (..., 4 D), h U for the same.
        state: of two tensors, h (..., P) and c (..., D), float32.
        projection: (..., D, P), in the type of the products.
        cell_clip: the largest size of a number in c; None for no limit.
        projection_clip: the same for h.

    Returns:
        the new state, as it was.

    Source: Sak et al. 2014, "Long short-term memory recurrent neural network architectures for large scale acoustic
    modeling", section 2.2, without peepholes; clipped as in Peters et al. 2018, "Deep contextualized word
    representations".
    """
    _, c = state
    i, f, g, o = ops.split(ops.cast(inputs, "float32") + ops.cast(recurrent, "float32"), 4, axis=-1)
    c = _clipped(ops.sigmoid(f) * c + ops.sigmoid(i) * ops.tanh(g), cell_clip)
    h = ops.matmul(ops.cast(ops.sigmoid(o) * ops.tanh(c), projection.dtype), projection)
    return _clipped(ops.cast(h, "float32"), projection_clip), c


def scan(
    step: Callable[[Any, Any], Any], state: Any, inputs: Any, padding_mask: Any = None, reverse: bool = False
) -> Any:
    """Run a recurrent step over the positions of a sequence.

    Args:
        step: takes a state and the input at one position, (B, ...); returns the next state.
        state: the first one, a nested structure of tensors; steps keep its structure, shapes and types.
        inputs: (B, T, ...), one tensor.
        padding_mask: (B, T) bool; where it is False the state, of tensors (B, D), stays as it is. None hides nothing.
        reverse: from the last position to the first.

    Returns:
        the states after each step, in the structure of `state`, tensors (B, T, ...).
    """
    mask = None if padding_mask is None else ops.transpose(ops.cast(padding_mask, "bool"))[..., None]  # (T, B, 1)

    # The position goes along as a state: on TensorFlow ops.scan takes one sequence only if its length is not fixed, and
    # its steps must return what they carry.
    def body(carried: tuple, x: Any) -> tuple:
        position, state = carried
        new = step(state, x)
        if mask is not None:
            real = ops.take(mask, position, axis=0)
            new = tree.map_structure(lambda after, before: ops.where(real, after, before), new, state)
        carried = (position - 1 if reverse else position + 1, new)
        return carried, carried

    first = ops.cast(ops.shape(inputs)[1] - 1 if reverse else 0, "int32")
    _, (_, states) = ops.scan(body, (first, state), _swap(inputs), reverse=reverse)
    return tree.map_structure(_swap, states)


def _parts(gates: Any, count: int) -> list:
    # Split, not sliced: the gradient of a slice is an array of the whole size for each.
    return ops.split(ops.cast(gates, "float32"), count, axis=-1)


def _clipped(x: Any, limit: float | None) -> Any:
    return x if limit is None else ops.clip(x, -limit, limit)


def _swap(x: Any) -> Any:
    """Swap batch and time: (B, T, ...) -> (T, B, ...) and back."""
    return ops.swapaxes(x, 0, 1)
