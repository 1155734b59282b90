"""The result of decoding, and the loop that writes one text per row, whatever chooses its tokens."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from keras import ops

from tfattn.decoding.rounds import LoopState, decode_batch, record, replaced
from tfattn.decoding.rows import largest, logsumexp
from tfattn.ops.indexing import pick

# Reads the tokens (N,) int32 at the position `index` (a scalar), returns the logits of the next ones (N, V), the new
# state and the alignment (N, S) or None. Rows do not depend on each other.
Step = Callable[[Any, Any, Any], tuple[Any, Any, Any]]


class Decoded(NamedTuple):
    """Decoded texts; n-best lists have an axis more, (B, n, ...), best first.

    Attributes:
        token_ids: (B, L) int32, without start and end tokens, 0 after the last.
        lengths: (B,) int32, the number of tokens. One that equals the limit tells that the text was cut: it has no end.
        scores: (B,) float32, the sum of the log probabilities that the model gave to the tokens and, if it was
            reached, the end; from beam search divided by the length penalty.
        alignment: (B, L, S) float32, the attention weight of each source token when each token was written, zeros
            after the last; or None.
        details: of each token, where they were asked for.
    """

    token_ids: Any
    lengths: Any
    scores: Any
    alignment: Any
    details: "Details | None" = None


class Details(NamedTuple):
    """What a model says of each token that was written, and of others in its place; zeros after the last.

    Attributes:
        log_probabilities: (B, L) float32, of the tokens.
        likeliest_ids: (B, L, n) int32, the tokens that it finds likeliest there, the first the likeliest.
        likeliest: (B, L, n) float32, their log probabilities.
    """

    log_probabilities: Any
    likeliest_ids: Any
    likeliest: Any


def decode(
    step: Step,
    state: Any,
    choose: Callable[[Any, LoopState], Any],
    *,
    start_ids: Any,
    end_id: int | Sequence[int],
    max_length: Any,
    length_limit: Any,
    source_length: Any = None,
    shrink_batch: bool,
    make_room: Callable[[Any, Any, Any], Any] | None = None,
    is_last: Callable[[Any, LoopState], Any] | None = None,
    num_likeliest: int | None = None,
) -> Decoded:
    """Write a text per row until each has its end or reaches its limit.

    A row that has ended changes no more, and the loop ends with the last.

    Args:
        choose: returns the next tokens (N,) int32, given logits (N, V) float32 of the rows that are still in the loop,
            and the loop; the tokens of rows that are done are not read.
        step, state, start_ids, end_id, max_length, length_limit, source_length, shrink_batch: as for `greedy`.
        end_id: also several.
        make_room: as for `decode_batch`, of the state alone.
        is_last: `is_last(token_ids, loop)` tells which rows end with the tokens that they get, (N,) bool, for another
            reason than that it is their end. None: none.
        num_likeliest: n of the details; None for no details.

    Returns:
        as `greedy`, and details.
    """
    start_ids = ops.convert_to_tensor(start_ids, dtype="int32")
    batch = ops.shape(start_ids)[0]
    limits = row_limits(length_limit, max_length, batch)
    end_ids = ops.reshape(ops.convert_to_tensor(end_id, dtype="int32"), (-1,))

    def write_one(loop: LoopState) -> tuple:
        (state, token_ids), (texts, lengths, scores, alignments, details) = loop.carried, loop.records
        limit, length, score = (ops.take(part, loop.rows, axis=0) for part in (limits, lengths, scores))
        logits, state, alignment = step(token_ids, loop.index, state)
        logits = ops.cast(logits, "float32")
        token_ids = ops.reshape(choose(logits, loop._replace(carried=(state, token_ids))), ops.shape(loop.rows))
        log_probability = (pick(logits, token_ids[:, None]) - logsumexp(logits, token_ids[:, None]))[:, 0]
        is_end = ops.any(token_ids[:, None] == end_ids, axis=1)
        is_written = ops.logical_not(ops.logical_or(loop.done, is_end))
        if is_last is not None:
            is_end = ops.logical_or(is_end, is_last(token_ids, loop))
        texts = record(texts, loop.index, loop.rows, ops.where(is_written, token_ids, 0))
        if alignments:
            alignment = ops.where(is_written[:, None], expected_alignment(alignment), 0.0)
            alignments = (record(alignments[0], loop.index, loop.rows, alignment),)
        if details:
            found = _details(logits, log_probability, is_written, details.likeliest.shape[2])
            details = Details(*(record(x, loop.index, loop.rows, y) for x, y in zip(details, found, strict=True)))
        score = score + ops.where(loop.done, 0.0, log_probability)
        length = length + ops.cast(is_written, "int32")
        lengths, scores = replaced(lengths, loop.rows, length), replaced(scores, loop.rows, score)
        done = ops.logical_or(loop.done, ops.logical_or(is_end, loop.index + 1 >= limit))
        return done, (state, token_ids), (texts, lengths, scores, alignments, details)

    # The first axis of what is recorded is time: a step then writes to one place.
    texts = ops.zeros((max_length, batch), dtype="int32")
    alignments = () if source_length is None else (ops.zeros((max_length, batch, source_length), dtype="float32"),)
    lengths, scores = ops.zeros((batch,), dtype="int32"), ops.zeros((batch,), dtype="float32")
    details: Any = ()
    if num_likeliest is not None:
        several = ops.zeros((max_length, batch, num_likeliest), dtype="float32")
        details = Details(ops.zeros((max_length, batch), dtype="float32"), ops.cast(several, "int32"), several)
    loop = decode_batch(
        write_one,
        carried=(state, start_ids),
        records=(texts, lengths, scores, alignments, details),
        done=limits < 1,
        max_length=max_length,
        shrink_batch=shrink_batch,
        make_room=make_room and (lambda carried, *places: (make_room(carried[0], *places), carried[1])),
    )
    texts, lengths, scores, alignments, details = loop.records
    alignment = ops.transpose(alignments[0], (1, 0, 2)) if alignments else None  # (L, B, S) -> (B, L, S)
    details = Details(*(ops.swapaxes(x, 0, 1) for x in details)) if details else None
    return Decoded(ops.transpose(texts), lengths, scores, alignment, details)


def _details(logits: Any, log_probability: Any, is_written: Any, count: int) -> Details:
    """Return the details of one step, of N rows."""
    values, token_ids = largest(logits, count)
    log_probabilities = values - logsumexp(logits, token_ids[:, :1])
    written = is_written[:, None]
    return Details(
        ops.where(is_written, log_probability, 0.0),
        ops.where(written, token_ids, 0),
        ops.where(written, log_probabilities, 0.0),
    )


def row_limits(length_limit: Any, max_length: Any, batch: Any) -> Any:
    """Return the most tokens that each row may have: (B,) int32."""
    limit = ops.cast(max_length, "int32")
    if length_limit is not None:
        limit = ops.minimum(limit, ops.cast(length_limit, "int32"))
    return ops.broadcast_to(limit, (batch,))


def expected_alignment(alignment: Any) -> Any:
    """Return the alignment of a step in float32; refuse a step without one."""
    if alignment is None:
        raise ValueError("source_length: expected None, because the model has no alignment")
    return ops.cast(alignment, "float32")
