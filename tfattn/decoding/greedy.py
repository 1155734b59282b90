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
    """Generate the most probable token at each step, until the end token.

    Args:
        step: `step(token_ids (B,), index, state)` reads the tokens at the position `index` and returns the logits of
            the next tokens (B, V), the new state, and the alignment (B, S) or None.
        state: the state of the first step, a nested structure of tensors of B rows. Axes of length 0 are extended for
            all positions.
        start_ids: (B,) int, the tokens at position 0.
        end_id: the token that ends a text.
        max_length: L, the maximum number of tokens of a text; an integer, or in TensorFlow a scalar tensor.
        length_limit: the maximum number of tokens of each row, a scalar or (B,) int; None for max_length.
        suppressed_ids: tokens that are never generated, such as padding and start.
        source_length: S of the alignments; None for no alignments.
        shrink_batch: whether finished rows leave the batch, so that steps have N of B rows. Much faster for texts of
            different lengths, but only possible with TensorFlow without XLA.

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
