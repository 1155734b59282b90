"""What decoding answers, and the loop that writes one text a row, whatever chooses its tokens."""

from collections.abc import Callable
from typing import Any, NamedTuple

from keras import ops, tree

from tfattn.decoding.rows import pick

# Reads the tokens (N,) int32 at the position `index` (a scalar), answers the logits of the next ones (N, V), the new
# state and the alignment (N, S) or None. Rows do not look at each other.
Step = Callable[[Any, Any, Any], tuple[Any, Any, Any]]


class Decoded(NamedTuple):
    """What was written; n-best lists have an axis more, (B, n, ...), best first.

    Attributes:
        token_ids: (B, L) int32, without start and end, 0 behind the last.
        lengths: (B,) int32, how many tokens. One that equals the limit tells that the text was cut: it has no end.
        scores: (B,) float32, the sum of the log probabilities that the model gave to the tokens and, if it was
            reached, the end; from beam search divided by the length penalty.
        alignment: (B, L, S) float32, for each token how much each source token counted when it was written, zeros
            behind the last; or None.
    """

    token_ids: Any
    lengths: Any
    scores: Any
    alignment: Any


def write(
    step: Step,
    state: Any,
    choose: Callable[[Any, Any, Any], Any],
    *,
    start_ids: Any,
    end_id: int,
    max_length: Any,
    length_limit: Any,
    source_length: Any,
) -> Decoded:
    """Writes a text per row until each has its end or reaches its limit.

    A row that has ended changes no more, and the loop ends with the last.

    Args:
        choose: the next tokens (B,) int32, given logits (B, V) float32, the index, and which rows (B,) are done, whose
            tokens nobody reads.
        step, state, start_ids, end_id, max_length, length_limit, source_length: as for `greedy`.
    """
    token_ids = ops.convert_to_tensor(start_ids, dtype="int32")
    batch = ops.shape(token_ids)[0]
    num_rows = tree.map_structure(lambda x: ops.shape(x)[0], state)
    limits = row_limits(length_limit, max_length, batch)

    def go_on(index: Any, state: Any, token_ids: Any, done: Any, *written: Any) -> Any:
        return ops.logical_not(ops.all(done))

    def write_one(
        index: Any, state: Any, token_ids: Any, done: Any, lengths: Any, scores: Any, texts: Any, alignments: tuple
    ) -> tuple:
        logits, new_state, alignment = step(token_ids, index, state)
        state = shaped_like(new_state, state, num_rows)
        logits = ops.cast(logits, "float32")
        token_ids = ops.reshape(choose(logits, index, done), (batch,))
        log_probability = pick(logits, token_ids[:, None])[:, 0] - ops.logsumexp(logits, axis=-1)
        is_end = token_ids == end_id
        is_written = ops.logical_not(ops.logical_or(done, is_end))
        texts = record(texts, index, ops.where(is_written, token_ids, 0))
        if alignments:
            alignment = ops.where(is_written[:, None], expected_alignment(alignment), 0.0)
            alignments = (record(alignments[0], index, alignment),)
        scores = scores + ops.where(done, 0.0, log_probability)
        lengths = lengths + ops.cast(is_written, "int32")
        done = ops.logical_or(done, ops.logical_or(is_end, index + 1 >= limits))
        return index + 1, state, token_ids, done, lengths, scores, texts, alignments

    # The first axis of what is recorded is time: a step then writes to one place.
    texts = ops.zeros((max_length, batch), dtype="int32")
    alignments = () if source_length is None else (ops.zeros((max_length, batch, source_length), dtype="float32"),)
    lengths, scores = ops.zeros((batch,), dtype="int32"), ops.zeros((batch,), dtype="float32")
    index = ops.zeros((), dtype="int32")
    *_, lengths, scores, texts, alignments = ops.while_loop(
        go_on, write_one, (index, state, token_ids, limits < 1, lengths, scores, texts, alignments)
    )
    alignment = ops.transpose(alignments[0], (1, 0, 2)) if alignments else None  # (L, B, S) -> (B, L, S)
    return Decoded(ops.transpose(texts), lengths, scores, alignment)


def row_limits(length_limit: Any, max_length: Any, batch: Any) -> Any:
    """The most tokens that each row may have: (B,) int32."""
    limit = ops.cast(max_length, "int32")
    if length_limit is not None:
        limit = ops.minimum(limit, ops.cast(length_limit, "int32"))
    return ops.broadcast_to(limit, (batch,))


def shaped_like(new: Any, old: Any, num_rows: Any) -> Any:
    """The new state, of which a graph knows the shapes again: steps may forget them, a loop needs them.

    Args:
        num_rows: of each tensor of the state.
    """

    def shaped(new: Any, old: Any, num_rows: Any) -> Any:
        # Sizes are not asked of the old tensor: whoever still reads it keeps steps from writing into it in place.
        rest = [-1 if size is None else size for size in old.shape[1:]]
        return new if rest.count(-1) > 1 else ops.reshape(new, (num_rows, *rest))

    return tree.map_structure(shaped, new, old, num_rows)


def record(records: Any, index: Any, x: Any) -> Any:
    """Writes x at the place `index` of the first axis."""
    # Not ops.slice_update: in TensorFlow that is an operation of XLA, which an export may not hold.
    return ops.scatter_update(records, ops.reshape(index, (1, 1)), x[None])


def expected_alignment(alignment: Any) -> Any:
    """The alignment of a step, if it has one."""
    if alignment is None:
        raise ValueError("source_length: expected None, because the model aligns with no source")
    return ops.cast(alignment, "float32")
