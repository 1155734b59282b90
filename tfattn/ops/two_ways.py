"""Two recurrent networks in one loop: one reads sequences from their begin, the other from their end.

What both have, such as states, has a first axis of 2. So a step takes one product of matrices for both, and the loop
has half as many steps as two loops.
"""

from collections.abc import Callable
from typing import Any

from keras import ops, tree


def in_reading_order(x: Any) -> Any:
    """Arrange what stands at positions as the two networks read it: (2, B, T, ...) -> (T, 2, B, ...)."""
    first, second = ops.unstack(x, 2, axis=0)
    return ops.stack([ops.swapaxes(first, 0, 1), ops.swapaxes(ops.flip(second, axis=1), 0, 1)], axis=1)


def in_place(x: Any) -> Any:
    """Undo `in_reading_order`: (T, 2, B, ...) -> (2, B, T, ...)."""
    first, second = ops.unstack(x, 2, axis=1)
    return ops.stack([ops.swapaxes(first, 0, 1), ops.flip(ops.swapaxes(second, 0, 1), axis=1)], axis=0)


def scan(step: Callable[[Any, Any], Any], state: Any, inputs: Any, real: Any = None, begins: Any = None) -> Any:
    """Run a step of both networks over the positions of sequences.

    Args:
        step: takes a state and the inputs at one position of each, (2, B, G); returns the next state.
        state: the first one, a nested structure of tensors (2, B, D); steps keep its structure, shapes and types.
        inputs: (T, 2, B, G), in reading order.
        real: (T, 2, B) bool, in reading order; where it is False the state stays as it is. None hides nothing.
        begins: (T, 2, B) bool; where it is True the state is 0 before the step. None lets none begin anew.

    Returns:
        the states after each step, in the structure of `state`, tensors (T, 2, B, D).
    """

    # As in ops.recurrence: on TensorFlow the loop takes one sequence, and the steps return what they carry.
    def body(carried: tuple, x: Any) -> tuple:
        position, before = carried
        if begins is not None:
            kept = ops.logical_not(ops.take(begins, position, axis=0))[..., None]
            before = tree.map_structure(lambda part: part * ops.cast(kept, part.dtype), before)
        after = step(before, x)
        if real is not None:
            is_real = ops.take(real, position, axis=0)[..., None]
            after = tree.map_structure(lambda new, old: ops.where(is_real, new, old), after, before)
        carried = (position + 1, after)
        return carried, carried

    return ops.scan(body, (ops.convert_to_tensor(0, "int32"), state), inputs)[1][1]


def begins_of(sequence_ids: Any) -> Any:
    """Find where each network reads the first position of a sequence: (B, T) int -> (2, B, T) bool.

    Args:
        sequence_ids: of which sequence of its row each position is; those of one stand side by side.
    """
    differs = sequence_ids[:, 1:] != sequence_ids[:, :-1]
    edge = ops.ones_like(sequence_ids[:, :1], dtype="bool")
    return ops.stack([ops.concatenate(pair, axis=1) for pair in ((edge, differs), (differs, edge))])
