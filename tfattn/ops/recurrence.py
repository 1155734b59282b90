"""Recurrent networks: a step of a GRU or an LSTM, and the loop over the positions of a sequence.

All functions compute in float32: a state in bfloat16 would lose small updates, and on a CPU it would not be faster.
"""

from collections.abc import Callable
from typing import Any

from keras import ops, tree


def gru(inputs: Any, recurrent: Any, state: tuple) -> tuple:
    """Take one step of a gated recurrent unit (GRU).

    With gates z and r, h' = (1 - z) n + z h and n = tanh(x W_n + r (h U_n + b_n)).

    Args:
        inputs: (B, 3 D), x W + b for z, r and n, concatenated.
        recurrent: (B, 3 D), h U + b for z, r and n, concatenated.
        state: a tuple of one tensor, h (B, D) float32.

    Returns:
        the new state, a tuple of one tensor (B, D) float32.

    Source: Cho et al. 2014, "Learning phrase representations using RNN encoder-decoder", eq. 5 to 8. Unlike in the
    paper, r multiplies the product h U_n instead of h, so that a step has one matrix product instead of two.
    """
    (h,) = state
    input_z, input_r, input_n = _parts(inputs, 3)
    recurrent_z, recurrent_r, recurrent_n = _parts(recurrent, 3)
    z = ops.sigmoid(input_z + recurrent_z)
    n = ops.tanh(input_n + ops.sigmoid(input_r + recurrent_r) * recurrent_n)
    return (n + z * (h - n),)


def lstm(
    inputs: Any,
    recurrent: Any,
    state: tuple,
    projection: Any = None,
    *,
    cell_clip: float | None = None,
    projection_clip: float | None = None,
) -> tuple:
    """Take one step of a long short-term memory (LSTM), with an optional projection to the width P.

    With gates i, f and o, c' = clip(f c + i g), h' = o tanh(c') and g = tanh(x W_g + h U_g); with a projection
    h' = clip(P o tanh(c')).

    Args:
        inputs: (..., 4 D), x W + b for i, f, g and o, concatenated.
        recurrent: (..., 4 D), h U + b for i, f, g and o, concatenated.
        state: a tuple of h (..., D), or (..., P) with a projection, and c (..., D), float32.
        projection: (..., D, P), in the type of the products; None for no projection.
        cell_clip: the maximum absolute value in c; None for no limit.
        projection_clip: the maximum absolute value in a projected h; None for no limit.

    Returns:
        the new state, in the structure of `state`.

    Source: Hochreiter and Schmidhuber 1997, "Long short-term memory", with the forget gate of Gers et al. 2000; the
    projection: Sak et al. 2014, "Long short-term memory recurrent neural network architectures for large scale acoustic
    modeling", section 2.2, without peepholes; clips as in Peters et al. 2018, "Deep contextualized word
    representations".
    """
    _, c = state
    # Split, not sliced: the gradient of each slice is an array of the whole size.
    i, f, g, o = ops.split(ops.cast(inputs, "float32") + ops.cast(recurrent, "float32"), 4, axis=-1)
    c = _clipped(ops.sigmoid(f) * c + ops.sigmoid(i) * ops.tanh(g), cell_clip)
    h = ops.sigmoid(o) * ops.tanh(c)
    if projection is None:
        return h, c
    h = ops.matmul(ops.cast(h, projection.dtype), projection)
    return _clipped(ops.cast(h, "float32"), projection_clip), c


def scan(
    step: Callable[[Any, Any], Any],
    state: Any,
    inputs: Any,
    *,
    real: Any = None,
    restarts: Any = None,
    reverse: bool = False,
) -> Any:
    """Run a recurrent step over the positions of sequences, the first axis of all tensors.

    Args:
        step: takes a state and the input at one position, (...); returns the next state.
        state: the initial state, a nested structure of tensors (..., D); steps keep its structure, shapes and types.
        inputs: (T, ..., G), one tensor.
        real: (T, ...) bool; where False the state does not change. None if all positions are real.
        restarts: (T, ...) bool; where True the state is set to 0 before the step. None for no restarts.
        reverse: whether to run from the last position to the first.

    Returns:
        the states after each step, in the structure of `state`, tensors (T, ..., D).
    """

    # The position is part of the state: on TensorFlow ops.scan accepts a single sequence if its length is not static,
    # and its steps must return their state.
    def body(carried: tuple, x: Any) -> tuple:
        position, before = carried
        if restarts is not None:
            kept = ops.logical_not(ops.take(restarts, position, axis=0))[..., None]
            before = tree.map_structure(lambda part: part * ops.cast(kept, part.dtype), before)
        after = step(before, x)
        if real is not None:
            is_real = ops.take(real, position, axis=0)[..., None]
            after = tree.map_structure(lambda new, old: ops.where(is_real, new, old), after, before)
        carried = (position - 1 if reverse else position + 1, after)
        return carried, carried

    first = ops.cast(ops.shape(inputs)[0] - 1 if reverse else 0, "int32")
    return ops.scan(body, (first, state), inputs, reverse=reverse)[1][1]


def scan_rows(
    step: Callable[[Any, Any], Any], state: Any, inputs: Any, padding_mask: Any = None, reverse: bool = False
) -> Any:
    """Run a recurrent step over the positions of rows: `scan` of inputs (B, T, G).

    Args:
        step, state, reverse: as for `scan`, for B rows.
        inputs: (B, T, G).
        padding_mask: (B, T) bool, True at real tokens; at padding the state does not change. None if all are real.

    Returns:
        the states after each step, in the structure of `state`, tensors (B, T, D).
    """
    real = None if padding_mask is None else _swap(ops.cast(padding_mask, "bool"))
    return tree.map_structure(_swap, scan(step, state, _swap(inputs), real=real, reverse=reverse))


def _parts(gates: Any, count: int) -> list:
    return ops.split(ops.cast(gates, "float32"), count, axis=-1)


def _clipped(x: Any, limit: float | None) -> Any:
    return x if limit is None else ops.clip(x, -limit, limit)


def _swap(x: Any) -> Any:
    """Swap batch and time: (B, T, ...) -> (T, B, ...) and back."""
    return ops.swapaxes(x, 0, 1)
