"""Beam search."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from keras import ops

from tfattn.decoding.history import History, Texts
from tfattn.decoding.loop import Decoded, Step, row_limits
from tfattn.decoding.rounds import LoopState, decode_batch, replaced
from tfattn.decoding.rows import largest, logsumexp, reorder_rows, suppression_bias
from tfattn.ops.indexing import pick

Stopping = Literal["results", "beams", "ended"]


def beam_search(
    step: Step,
    state: Any,
    *,
    start_ids: Any,
    end_id: int,
    max_length: Any,
    num_beams: int,
    length_penalty: Any = 0.0,
    length_penalty_offset: float = 5.0,
    num_results: int | None = None,
    length_limit: Any = None,
    suppressed_ids: Sequence[int] = (),
    stopping: Stopping = "results",
    forced_end: bool = False,
    renormalize: bool = False,
    source_length: Any = None,
    reorder: Callable[[Any, Any], Any] = reorder_rows,
    shrink_batch: bool = False,
    make_room: Callable[[Any, Any, Any], Any] | None = None,
) -> Decoded:
    """Search for the most probable texts of each row with W beams, and return the best ended texts.

    At each step all continuations of a row's W beams are ranked. Among the best W, continuations that end are finished
    texts; the best W continuations without an end go on. A row is finished when it reaches its limit, or as soon as no
    beam can become better than the worst result: log probabilities never increase, so that a beam's score is at most
    its current sum divided by the penalty of the longest text. This early stopping never changes a result. A row is
    also finished when W of its texts have ended and, by `stopping`,

    - "results": no beam would be better than the worst result if it ended at the next step with probability 1: longer
      texts hardly ever gain more by the penalty;
    - "beams": no beam, with the penalty of its current length, is better than the worst of the W best ended texts;
    - "ended": in any case.

    Rows are independent of each other.

    Texts that are cut at the limit count only if fewer texts than `num_results` have ended; unless `stopping` is
    "results", they are ranked like texts that end there. "beams" and "ended" are the rules of transformers.

    With a single beam it is greedy search.

    Args:
        step: `step(token_ids (B W,), index, state)` reads the tokens at the position `index` and returns the logits of
            the next tokens (B W, V), the new state, and the alignment (B W, S) or None. Beam w of row b is row b W + w.
        state: the state of the first step, a nested structure of tensors of B W rows, or of B. Axes of length 0 are
            extended for all positions.
        start_ids: (B,) int, the tokens at position 0.
        end_id: the token that ends a text.
        max_length: L, the maximum number of tokens of a text; an integer, or in TensorFlow a scalar tensor.
        num_beams: W.
        length_penalty: alpha, at least 0: a text's score is the sum of its log probabilities divided by
            ((k + |Y|) / (k + 1))^alpha, |Y| being the number of terms, so that an end counts. 0 is no penalty; more
            makes longer texts win. A number or a scalar tensor.
        length_penalty_offset: k; 0 divides by |Y|^alpha.
        num_results: n, at most W: the n best are returned, on an additional axis. None for the best, without the axis.
        length_limit: the maximum number of tokens of each row, a scalar or (B,) int; None for max_length. A tight limit
            also allows earlier stopping.
        suppressed_ids: tokens that are never generated, such as padding and start.
        stopping: when a row is finished, as above.
        forced_end: whether the last token of a text of the maximum length is its end, with probability 1.
        renormalize: whether suppressed tokens have no probability, so that those of the others sum to 1.
        source_length: S of the alignments; None for no alignments.
        reorder: `reorder(state, beams (B, W))` returns the state after beam w of row b continues beam `beams[b, w]`. By
            default the B W rows of the state's tensors are reordered.
        shrink_batch: whether finished rows leave the batch, as for `greedy`: `step` and `reorder` then get N of B rows.
        make_room: as for `decode_batch`, applied to the state alone.

    Returns:
        `Decoded`: token_ids (B, L) or (B, n, L), lengths, scores, alignment or None; best first. Missing texts, such as
        with a limit of 0, have a length of 0 and a score of minus infinity.

    Raises:
        ValueError: num_beams, num_results or length_penalty is out of range.

    Example:
        >>> after = ops.log(ops.convert_to_tensor([[0.0, 0.6, 0.4], [0.4, 0.3, 0.3], [0.9, 0.1, 0.0]]))
        >>> step = lambda token_ids, index, state: (ops.take(after, token_ids, axis=0), state, None)
        >>> beam_search(step, (), start_ids=[0], end_id=0, max_length=4, num_beams=2).token_ids.numpy().tolist()
        [[2, 0, 0, 0]]

    Source: Sutskever et al. 2014, "Sequence to sequence learning with neural networks", section 3.2; the penalty: Wu
        et al. 2016, "Google's neural machine translation system", eq. 14 (without its coverage term).
    """
    _check(num_beams, num_results, length_penalty)
    start_ids = ops.convert_to_tensor(start_ids, dtype="int32")
    batch = ops.shape(start_ids)[0]
    limits = row_limits(length_limit, max_length, batch)
    own_beam = ops.arange(num_beams, dtype="int32")

    def penalty(num_terms: Any) -> Any:
        offset = length_penalty_offset
        return ((offset + ops.cast(num_terms, "float32")) / (offset + 1.0)) ** length_penalty

    def advance(loop: LoopState) -> tuple:
        search, (results, history), index = loop.carried, loop.records, loop.index
        own_limits, *kept = (ops.take(part, loop.rows, axis=0) for part in (limits, *results))
        logits, state, alignment = step(ops.reshape(search.token_ids, (-1,)), index, search.state)
        at_limit = index + 1 >= own_limits
        if forced_end:
            logits = _only_end(logits, ops.repeat(at_limit, num_beams, axis=0), end_id)
        scores, parents, token_ids = _candidates(logits, search.live, suppressed_ids, renormalize)  # each (N, 2 W)
        is_end = token_ids == end_id
        # Each beam has a single end, so that at least W of the 2 W go on.
        live, indices = ops.top_k(ops.where(is_end, -np.inf, scores), num_beams)
        token_ids, survivors = pick(token_ids, indices), pick(parents, indices)  # (N, W)

        ended_scores = ops.where(is_end[:, :num_beams], scores[:, :num_beams] / penalty(index + 1), -np.inf)
        ended = Texts(ended_scores, ops.full_like(survivors, index), parents[:, :num_beams])
        beams = ops.broadcast_to(own_beam, ops.shape(survivors))
        cut = Texts(live / penalty(index + 1), ops.full_like(survivors, index + 1), beams)
        if stopping != "results":
            counts = ops.logical_and(at_limit[:, None], indices < num_beams)
            counted = cut._replace(scores=ops.where(counts, cut.scores, -np.inf))
            ended = Texts(*(ops.concatenate(parts, axis=1) for parts in zip(ended, counted, strict=True)))
        kept = _keep(Texts(*kept), ended, cut, ops.logical_and(at_limit, stopping == "results"), loop.done)

        num_ended = search.num_ended + ops.sum(ops.cast(ended_scores > -np.inf, "int32"), axis=1)
        best, worst = live[:, 0], kept.scores[:, -1]
        is_beaten = num_ended >= num_beams
        if stopping != "ended":
            # A text that ends at the next step has one more token, the end.
            length = index + 2 if stopping == "results" else index + 1
            is_beaten = ops.logical_and(is_beaten, best / penalty(length) <= worst)
        decided = ops.logical_or(best / penalty(own_limits) <= worst, is_beaten)
        done = ops.logical_or(loop.done, ops.logical_or(at_limit, decided))
        results = Texts(*(replaced(*parts) for parts in zip(results, [loop.rows] * 3, kept, strict=True)))
        history = history.extended(index, loop.rows, token_ids, survivors, alignment)
        search = _Search(reorder(state, survivors), token_ids, live, num_ended)
        return done, search, (results, history)

    num_kept = (num_results or 1) if stopping == "results" else num_beams
    nothing = ops.zeros((batch, num_kept), dtype="int32")
    results = Texts(ops.where(nothing == 0, -np.inf, 0.0), nothing, nothing)
    search = _Search(
        state=state,
        token_ids=ops.repeat(start_ids[:, None], num_beams, axis=1),
        # All beams are equal at the start; only the first is continued.
        live=ops.broadcast_to(ops.where(own_beam == 0, 0.0, -np.inf), (batch, num_beams)),
        num_ended=ops.zeros((batch,), dtype="int32"),
    )
    loop = decode_batch(
        advance,
        carried=search,
        records=(results, History.empty(max_length, batch, num_beams, source_length)),
        done=limits < 1,
        max_length=max_length,
        shrink_batch=shrink_batch,
        make_room=make_room and (lambda search, *bounds: search._replace(state=make_room(search.state, *bounds))),
    )
    results, history = loop.records
    if num_kept > (num_results or 1):
        results = Texts(*(part[:, : num_results or 1] for part in results))
    decoded = history.texts(results, loop.index)
    if num_results is None:
        return Decoded(*(None if part is None else part[:, 0] for part in decoded))
    return decoded


class _Search(NamedTuple):
    """The state of the search of N rows between two steps.

    Attributes:
        state: the state of the step function.
        token_ids: (N, W), the tokens to read next.
        live: (N, W), each beam's sum of log probabilities, best first; minus infinity where there is no beam.
        num_ended: (N,), the number of texts that have ended.
    """

    state: Any
    token_ids: Any
    live: Any
    num_ended: Any


def _only_end(logits: Any, at_limit: Any, end_id: int) -> Any:
    """Give the end a probability of 1 in rows (N,) at the limit."""
    sure = ops.where(ops.arange(logits.shape[-1]) == end_id, 0.0, -np.inf)
    return ops.where(at_limit[:, None], sure, ops.cast(logits, "float32"))


def _candidates(logits: Any, live: Any, suppressed_ids: Sequence[int], renormalize: bool) -> tuple[Any, Any, Any]:
    """Rank the continuations of each row's W beams: log probabilities, parents and tokens of the best 2 W, (N, 2 W)."""
    logits = ops.cast(logits, "float32")
    if renormalize and suppressed_ids:
        logits = logits + suppression_bias(suppressed_ids, logits.shape[-1])
    batch, num_beams = ops.shape(live)
    values, token_ids = largest(logits, 2 * num_beams, suppressed_ids=suppressed_ids)  # (B W, 2 W)
    each = values.shape[1]
    log_probabilities = values - logsumexp(logits, token_ids[:, :1])
    sums = live[:, :, None] + ops.reshape(log_probabilities, (batch, num_beams, each))
    scores, indices = ops.top_k(ops.reshape(sums, (batch, num_beams * each)), 2 * num_beams)
    return scores, indices // each, pick(ops.reshape(token_ids, (batch, num_beams * each)), indices)


def _keep(kept: Texts, ended: Texts, cut: Texts, at_limit: Any, done: Any) -> Texts:
    """Merge texts that have just ended into the n best; at the limit, fill up with the best unfinished beams."""
    num_kept = kept.scores.shape[1]
    scores = ops.concatenate([kept.scores, ended.scores], axis=1)
    best, indices = ops.top_k(scores, num_kept)
    own_indices = ops.arange(num_kept, dtype="int32")
    missing = own_indices - ops.sum(ops.cast(best > -np.inf, "int32"), axis=1, keepdims=True)  # 0, 1, ... if missing
    takes_cut = ops.logical_and(at_limit[:, None], missing >= 0)
    indices = ops.where(takes_cut, scores.shape[1] + missing, indices)
    indices = ops.where(done[:, None], own_indices, indices)
    return Texts(*(pick(ops.concatenate(parts, axis=1), indices) for parts in zip(kept, ended, cut, strict=True)))


def _check(num_beams: int, num_results: int | None, length_penalty: Any) -> None:
    if num_beams < 1:
        raise ValueError(f"num_beams: expected at least 1, received {num_beams}")
    if num_results is not None and not 1 <= num_results <= num_beams:
        raise ValueError(f"num_results: expected 1 to num_beams={num_beams}, received {num_results}")
    if isinstance(length_penalty, int | float) and length_penalty < 0:
        raise ValueError(f"length_penalty: expected at least 0, received {length_penalty}")
