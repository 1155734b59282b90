"""Greedy search: the most probable token at each step."""

from collections.abc import Sequence
from typing import Any

from tfattn.decoding.loop import Decoded, Step, decode
from tfattn.decoding.rounds import LoopState
from tfattn.decoding.rows import largest


def greedy(
    step: Step,
    state: Any,
    *,
    start_ids: Any,
    end_id: int,
    max_length: Any,
    length_limit: Any = None,
    suppressed_ids: Sequence[int] = (),
    source_length: Any = None,
    shrink_batch: bool = False,
) -> Decoded:
    """Write the most probable token at each step, until that is the end.

    Args:
        step: `step(token_ids (B,), index, state)` reads the tokens at the position `index` and returns the logits of
            the next (B, V), the new state, and the alignment (B, S) or None.
        state: of the first step: a nested structure of tensors, B rows each. Axes of length 0 are made long enough for
            all positions.
        start_ids: (B,) int, the tokens at position 0.
        end_id: the token that ends a text.
        max_length: L, the most tokens that a text can have; an integer, or in TensorFlow a scalar tensor.
        length_limit: at most how many of those a row may have: a scalar or (B,) int; None stands for max_length.
        suppressed_ids: tokens that are never written, such as padding and start.
        source_length: S of the alignments, if they are wanted.
        shrink_batch: whether rows that have ended leave the batch, so that a step has ever fewer: N of B. Much faster
            where the lengths of texts differ, but only TensorFlow without XLA can do it.

    Returns:
        `Decoded`: token_ids (B, L), lengths (B,), scores (B,), alignment (B, L, S) or None.

    Example:
        >>> from keras import ops
        >>> after = ops.one_hot([2, 0, 1], 3) * 9.0  # the most probable after each token: 0 -> 2 -> 1 -> 0
        >>> step = lambda token_ids, index, state: (ops.take(after, token_ids, axis=0), state, None)
        >>> greedy(step, (), start_ids=[0], end_id=0, max_length=4).token_ids.numpy().tolist()
        [[2, 1, 0, 0]]
    """

    def choose(logits: Any, loop: LoopState) -> Any:
        return largest(logits, 1, suppressed_ids=suppressed_ids)[1][:, 0]

    return decode(
        step,
        state,
        choose,
        start_ids=start_ids,
        end_id=end_id,
        max_length=max_length,
        length_limit=length_limit,
        source_length=source_length,
        shrink_batch=shrink_batch,
    )
