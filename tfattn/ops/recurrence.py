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


def lstm(
    inputs: Any,
    recurrent: Any,
    state: tuple,
    projection: Any = None,
    *,
    cell_clip: float | None = None,
    projection_clip: float | None = None,
) -> tuple:
    """Take one step of a long short-term memory (LSTM), whose output may be projected to P numbers.

    With gates i, f and o, c' = clip(f c + i g), h' = o tanh(c') and g = tanh(x W_g + h U_g); with a projection
    h' = clip(P o tanh(c')), which alone is read again.

    Args:
        inputs: (..., 4 D), x W + b for i, f, g and o side by side.
        recurrent: (..., 4 D), h U + b for the same.
        state: of two tensors, h (..., D), or (..., P) with a projection, and c (..., D), float32.
        projection: (..., D, P), in the type of the products; None for none.
        cell_clip: the largest size of a number in c; None for no limit.
        projection_clip: the same for a projected h.

    Returns:
        the new state, as it was.

    Source: Hochreiter and Schmidhuber 1997, "Long short-term memory", with the forget gate of Gers et al. 2000; the
    projection: Sak et al. 2014, "Long short-term memory recurrent neural network architectures for large scale acoustic
    modeling", section 2.2, without peepholes; clips as in Peters et al. 2018, "Deep contextualized word
    representations".
    """
    _, c = state
    # Split, not sliced: the gradient of a slice is an array of the whole size for each.
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
    """Run a recurrent step over the positions of sequences, which are the first axis of all tensors.

    Args:
        step: takes a state and the input at one position, (...); returns the next state.
        state: the first one, a nested structure of tensors (..., D); steps keep its structure, shapes and types.
        inputs: (T, ..., G), one tensor.
        real: (T, ...) bool; where it is False the state stays as it is. None hides nothing.
        restarts: (T, ...) bool; where it is True the state is 0 before the step. None restarts nothing.
        reverse: from the last position to the first.

    Returns:
        the states after each step, in the structure of `state`, tensors (T, ..., D).
    """

    # The position goes along as a state: on TensorFlow ops.scan takes one sequence only if its length is not fixed, and
    # its steps must return what they carry.
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
        step, state, reverse: as for `scan`, of B rows.
        inputs: (B, T, G).
        padding_mask: (B, T) bool, True at real tokens; elsewhere the state stays as it is. None hides nothing.

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
