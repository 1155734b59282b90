"""The result of decoding, and the decoding loop with one text per row."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from keras import ops

from tfattn.decoding.rounds import LoopState, decode_batch, record, replaced
from tfattn.decoding.rows import largest, logsumexp
from tfattn.ops.indexing import pick

# Reads the tokens (N,) int32 at the position `index` (a scalar), returns the logits of the next tokens (N, V), the new
# state and the alignment (N, S) or None. Rows are independent of each other.
Step = Callable[[Any, Any, Any], tuple[Any, Any, Any]]


class Decoded(NamedTuple):
    """Decoded texts; n-best lists have an additional axis, (B, n, ...), best first.

    Attributes:
        token_ids: (B, L) int32, without start and end tokens, 0 after the last token.
        lengths: (B,) int32, the number of tokens. A length that equals the limit is a text without an end.
        scores: (B,) float32, the sum of the log probabilities of the tokens and of the end, if it was reached; divided
            by the length penalty in beam search.
        alignment: (B, L, S) float32, the attention weights of the source tokens for each token, zeros after the last
            token; or None.
        details: the log probabilities of tokens, if requested.
    """

    token_ids: Any
    lengths: Any
    scores: Any
    alignment: Any
    details: "Details | None" = None


class Details(NamedTuple):
    """The log probabilities of each token and of the most likely tokens; zeros after the last token.

    Attributes:
        log_probabilities: (B, L) float32, the log probabilities of the generated tokens.
        top_ids: (B, L, n) int32, the n most likely tokens, most likely first.
        top_logprobs: (B, L, n) float32, the log probabilities of the n most likely tokens.
    """

    log_probabilities: Any
    top_ids: Any
    top_logprobs: Any


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
    num_top_logprobs: int | None = None,
) -> Decoded:
    """Generate a text per row until each row has an end token or reaches its limit.

    A row that has ended does not change, and the loop ends with the last row.

    Args:
        choose: returns the next tokens (N,) int32, given logits (N, V) float32 of the rows in the loop, and the loop;
            the tokens of finished rows are ignored.
        step, state, start_ids, end_id, max_length, length_limit, source_length, shrink_batch: as for `greedy`.
        end_id: the end token, or several.
        make_room: as for `decode_batch`, applied to the state alone.
        is_last: `is_last(token_ids, loop)` returns the rows that end with the given tokens, (N,) bool, in addition to
            end tokens. None for no other ends.
        num_top_logprobs: n of the details; None for no details.

    Returns:
        as `greedy`, with details.
    """
    start_ids = ops.convert_to_tensor(start_ids, dtype="int32")
    batch = ops.shape(start_ids)[0]
    limits = row_limits(length_limit, max_length, batch)
    end_ids = ops.reshape(ops.convert_to_tensor(end_id, dtype="int32"), (-1,))

    def advance(loop: LoopState) -> tuple:
        (state, token_ids), (texts, lengths, scores, alignments, details) = loop.carried, loop.records
        limit, length, score = (ops.take(part, loop.rows, axis=0) for part in (limits, lengths, scores))
        logits, state, alignment = step(token_ids, loop.index, state)
        logits = ops.cast(logits, "float32")
        token_ids = ops.reshape(choose(logits, loop._replace(carried=(state, token_ids))), ops.shape(loop.rows))
        log_probability = (pick(logits, token_ids[:, None]) - logsumexp(logits, token_ids[:, None]))[:, 0]
        is_end = ops.any(token_ids[:, None] == end_ids, axis=1)
        is_generated = ops.logical_not(ops.logical_or(loop.done, is_end))
        if is_last is not None:
            is_end = ops.logical_or(is_end, is_last(token_ids, loop))
        texts = record(texts, loop.index, loop.rows, ops.where(is_generated, token_ids, 0))
        if alignments:
            alignment = ops.where(is_generated[:, None], expected_alignment(alignment), 0.0)
            alignments = (record(alignments[0], loop.index, loop.rows, alignment),)
        if details:
            step_details = _details(logits, log_probability, is_generated, details.top_logprobs.shape[2])
            pairs = zip(details, step_details, strict=True)
            details = Details(*(record(x, loop.index, loop.rows, y) for x, y in pairs))
        score = score + ops.where(loop.done, 0.0, log_probability)
        length = length + ops.cast(is_generated, "int32")
        lengths, scores = replaced(lengths, loop.rows, length), replaced(scores, loop.rows, score)
        done = ops.logical_or(loop.done, ops.logical_or(is_end, loop.index + 1 >= limit))
        return done, (state, token_ids), (texts, lengths, scores, alignments, details)

    # Time is the first axis of records, so that a step writes to a contiguous block.
    texts = ops.zeros((max_length, batch), dtype="int32")
    alignments = () if source_length is None else (ops.zeros((max_length, batch, source_length), dtype="float32"),)
    lengths, scores = ops.zeros((batch,), dtype="int32"), ops.zeros((batch,), dtype="float32")
    details: Any = ()
    if num_top_logprobs is not None:
        top = ops.zeros((max_length, batch, num_top_logprobs), dtype="float32")
        details = Details(ops.zeros((max_length, batch), dtype="float32"), ops.cast(top, "int32"), top)
    loop = decode_batch(
        advance,
        carried=(state, start_ids),
        records=(texts, lengths, scores, alignments, details),
        done=limits < 1,
        max_length=max_length,
        shrink_batch=shrink_batch,
        make_room=make_room and (lambda carried, *bounds: (make_room(carried[0], *bounds), carried[1])),
    )
    texts, lengths, scores, alignments, details = loop.records
    alignment = ops.transpose(alignments[0], (1, 0, 2)) if alignments else None  # (L, B, S) -> (B, L, S)
    details = Details(*(ops.swapaxes(x, 0, 1) for x in details)) if details else None
    return Decoded(ops.transpose(texts), lengths, scores, alignment, details)


def _details(logits: Any, log_probability: Any, is_generated: Any, count: int) -> Details:
    """Compute the details of one step, for N rows."""
    values, token_ids = largest(logits, count)
    log_probabilities = values - logsumexp(logits, token_ids[:, :1])
    is_valid = is_generated[:, None]
    return Details(
        ops.where(is_generated, log_probability, 0.0),
        ops.where(is_valid, token_ids, 0),
        ops.where(is_valid, log_probabilities, 0.0),
    )


def row_limits(length_limit: Any, max_length: Any, batch: Any) -> Any:
    """Return the maximum number of tokens of each row: (B,) int32."""
    limit = ops.cast(max_length, "int32")
    if length_limit is not None:
        limit = ops.minimum(limit, ops.cast(length_limit, "int32"))
    return ops.broadcast_to(limit, (batch,))


def expected_alignment(alignment: Any) -> Any:
    """Return the alignment of a step in float32, and check that there is one."""
    if alignment is None:
        raise ValueError("source_length: expected None, because the model has no alignment")
    return ops.cast(alignment, "float32")
