"""Beam search."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from keras import ops

from tfattn.decoding.history import History, Texts
from tfattn.decoding.loop import Decoded, Step, row_limits
from tfattn.decoding.rounds import LoopState, decode_batch, replaced
from tfattn.decoding.rows import largest, logsumexp, reorder_rows
from tfattn.ops.indexing import pick


def beam_search(
    step: Step,
    state: Any,
    *,
    start_ids: Any,
    end_id: int,
    max_length: Any,
    num_beams: int,
    length_penalty: Any = 0.0,
    num_results: int | None = None,
    length_limit: Any = None,
    suppressed_ids: Sequence[int] = (),
    source_length: Any = None,
    reorder: Callable[[Any, Any], Any] = reorder_rows,
    shrink_batch: bool = False,
    make_room: Callable[[Any, Any, Any], Any] | None = None,
) -> Decoded:
    """Search for the most probable texts of each row with W beams, and return the best of those that ended.

    At each step all continuations of a row's W beams are ranked. Those of the best W that end are finished; the best W
    that do not end go on. A row is done when it reaches its limit, or as soon as no beam can still become better than
    the worst result: log probabilities only fall, so that a beam's score is at most its present sum divided by the
    penalty of the longest text. This early finish changes no result. A row is also done when W of its texts have ended
    and no beam would be better if it ended at the next step with probability 1: what a longer text gains by the penalty
    hardly ever makes up for it. The loop ends with the last row; rows do not depend on each other.

    Texts that are cut at the limit count only where fewer than the wanted results have ended.

    With one beam it is greedy search.

    Args:
        step: `step(token_ids (B W,), index, state)` reads the tokens at the position `index` and returns the logits of
            the next (B W, V), the new state, and the alignment (B W, S) or None. The beams of a row stand next to each
            other: beam w of row b is row b W + w.
        state: of the first step: a nested structure of tensors, of B W rows, or of B. Axes of length 0 are made long
            enough for all positions.
        start_ids: (B,) int, the tokens at position 0.
        end_id: the token that ends a text.
        max_length: L, the most tokens that a text can have; an integer, or in TensorFlow a scalar tensor.
        num_beams: W.
        length_penalty: alpha, at least 0: a text's score is the sum of its log probabilities divided by
            ((5 + |Y|) / 6)^alpha, |Y| being the number of terms, so that an end counts. 0 is no penalty; more makes
            longer texts win. A number or a scalar tensor.
        num_results: n, at most W: the n best are returned, on an axis of their own. None: the best, without axis.
        length_limit: at most how many tokens a row may have: a scalar or (B,) int; None stands for max_length. A tight
            one also makes the early finish earlier.
        suppressed_ids: tokens that are never written, such as padding and start.
        source_length: S of the alignments, if they are wanted.
        reorder: `reorder(state, beams (B, W))` returns the state after beam w of row b continues beam `beams[b, w]`. By
            default the state's tensors have B W rows, which are put in their new order.
        shrink_batch: whether rows that are done leave the batch, as for `greedy`: `step` and `reorder` then get N of B.
        make_room: as for `decode_batch`, of the state alone.

    Returns:
        `Decoded`: token_ids (B, L) or (B, n, L), lengths, scores, alignment or None; best first. Where there are fewer
        than n texts at all (a limit of 0 allows none), a length of 0 and a score of minus infinity.

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
        return ((5.0 + ops.cast(num_terms, "float32")) / 6.0) ** length_penalty

    def write_one(loop: LoopState) -> tuple:
        search, (results, history), index = loop.carried, loop.records, loop.index
        own_limits, *kept = (ops.take(part, loop.rows, axis=0) for part in (limits, *results))
        logits, state, alignment = step(ops.reshape(search.token_ids, (-1,)), index, search.state)
        scores, parents, token_ids = _candidates(logits, search.live, suppressed_ids)  # each (N, 2 W)
        is_end = token_ids == end_id
        # Each beam has one end, so that at least W of the 2 W go on.
        live, places = ops.top_k(ops.where(is_end, -np.inf, scores), num_beams)
        token_ids, survivors = pick(token_ids, places), pick(parents, places)  # (N, W)

        ended_scores = ops.where(is_end[:, :num_beams], scores[:, :num_beams] / penalty(index + 1), -np.inf)
        ended = Texts(ended_scores, ops.full_like(survivors, index), parents[:, :num_beams])
        beams = ops.broadcast_to(own_beam, ops.shape(survivors))
        cut = Texts(live / penalty(index + 1), ops.full_like(survivors, index + 1), beams)
        at_limit = index + 1 >= own_limits
        kept = _keep(Texts(*kept), ended, cut, at_limit, loop.done)

        num_ended = search.num_ended + ops.sum(ops.cast(ended_scores > -np.inf, "int32"), axis=1)
        best, worst = live[:, 0], kept.scores[:, -1]
        is_behind = ops.logical_and(num_ended >= num_beams, best / penalty(index + 2) <= worst)
        decided = ops.logical_or(best / penalty(own_limits) <= worst, is_behind)
        done = ops.logical_or(loop.done, ops.logical_or(at_limit, decided))
        results = Texts(*(replaced(*parts) for parts in zip(results, [loop.rows] * 3, kept, strict=True)))
        history = history.extended(index, loop.rows, token_ids, survivors, alignment)
        search = _Search(reorder(state, survivors), token_ids, live, num_ended)
        return done, search, (results, history)

    nothing = ops.zeros((batch, num_results or 1), dtype="int32")
    results = Texts(ops.where(nothing == 0, -np.inf, 0.0), nothing, nothing)
    search = _Search(
        state=state,
        token_ids=ops.repeat(start_ids[:, None], num_beams, axis=1),
        # All beams start alike; only one of them may be continued.
        live=ops.broadcast_to(ops.where(own_beam == 0, 0.0, -np.inf), (batch, num_beams)),
        num_ended=ops.zeros((batch,), dtype="int32"),
    )
    loop = decode_batch(
        write_one,
        carried=search,
        records=(results, History.empty(max_length, batch, num_beams, source_length)),
        done=limits < 1,
        max_length=max_length,
        shrink_batch=shrink_batch,
        make_room=make_room and (lambda search, *places: search._replace(state=make_room(search.state, *places))),
    )
    results, history = loop.records
    decoded = history.texts(results, loop.index)
    if num_results is None:
        return Decoded(*(None if part is None else part[:, 0] for part in decoded))
    return decoded


class _Search(NamedTuple):
    """The state of the search of N rows between two steps.

    Attributes:
        state: of the step function.
        token_ids: (N, W), the tokens to read next.
        live: (N, W), each beam's sum of log probabilities, best first; minus infinity where there is no beam.
        num_ended: (N,), the number of texts that have ended.
    """

    state: Any
    token_ids: Any
    live: Any
    num_ended: Any


def _candidates(logits: Any, live: Any, suppressed_ids: Sequence[int]) -> tuple[Any, Any, Any]:
    """Rank the continuations of each row's W beams: log probabilities, parents and tokens of the best 2 W, (N, 2 W)."""
    logits = ops.cast(logits, "float32")
    batch, num_beams = ops.shape(live)
    values, token_ids = largest(logits, 2 * num_beams, suppressed_ids=suppressed_ids)  # (B W, 2 W)
    each = values.shape[1]
    log_probabilities = values - logsumexp(logits, token_ids[:, :1])
    sums = live[:, :, None] + ops.reshape(log_probabilities, (batch, num_beams, each))
    scores, places = ops.top_k(ops.reshape(sums, (batch, num_beams * each)), 2 * num_beams)
    return scores, places // each, pick(ops.reshape(token_ids, (batch, num_beams * each)), places)


def _keep(kept: Texts, ended: Texts, cut: Texts, at_limit: Any, done: Any) -> Texts:
    """Merge texts that have just ended into the n best so far; at the limit, fill up with the best unfinished ones."""
    num_kept = kept.scores.shape[1]
    scores = ops.concatenate([kept.scores, ended.scores], axis=1)
    best, places = ops.top_k(scores, num_kept)
    own_places = ops.arange(num_kept, dtype="int32")
    missing = own_places - ops.sum(ops.cast(best > -np.inf, "int32"), axis=1, keepdims=True)  # 0, 1, ... where none is
    takes_cut = ops.logical_and(at_limit[:, None], missing >= 0)
    places = ops.where(takes_cut, scores.shape[1] + missing, places)
    places = ops.where(done[:, None], own_places, places)
    return Texts(*(pick(ops.concatenate(parts, axis=1), places) for parts in zip(kept, ended, cut, strict=True)))


def _check(num_beams: int, num_results: int | None, length_penalty: Any) -> None:
    if num_beams < 1:
        raise ValueError(f"num_beams: expected at least 1, received {num_beams}")
    if num_results is not None and not 1 <= num_results <= num_beams:
        raise ValueError(f"num_results: expected 1 to num_beams={num_beams}, received {num_results}")
    if isinstance(length_penalty, int | float) and length_penalty < 0:
        raise ValueError(f"length_penalty: expected at least 0, received {length_penalty}")
