"""Sampling with temperature, top-k, top-p and min-p."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from keras import ops

from tfattn.decoding.counter_rng import uniform
from tfattn.decoding.loop import Decoded, Step, decode
from tfattn.decoding.rounds import LoopState
from tfattn.decoding.rows import grouped, suppression_bias
from tfattn.ops.indexing import pick

# Below this temperature sampling is greedy: float32 cannot represent the other probabilities.
GREEDY_TEMPERATURE = 1e-4
# About ln V attempts find one of V tokens; only NaN weights need more.
MAX_ATTEMPTS = 128


def sample(
    step: Step,
    state: Any,
    *,
    start_ids: Any,
    end_id: int,
    max_length: Any,
    seed: Any,
    temperature: Any = 1.0,
    top_k: Any = 0,
    top_p: Any = 1.0,
    min_p: Any = 0.0,
    length_limit: Any = None,
    suppressed_ids: Sequence[int] = (),
    source_length: Any = None,
    shrink_batch: bool = False,
) -> Decoded:
    """Sample each token from the model's distribution, until the end token.

    Candidates are the intersection of three sets: the top_k most probable tokens at the temperature; the nucleus, the
    smallest set of most probable tokens with a cumulative probability of at least top_p; and the tokens at least min_p
    times as probable as the most probable token. Each set is chosen from all tokens. Ties are resolved in favour of the
    smaller id.

    The samples of a row depend on its own seed and settings alone, not on the other rows of its batch.

    Args:
        step, state, start_ids, end_id, max_length, length_limit, suppressed_ids, source_length,
            shrink_batch: as for `greedy`.
        seed: an integer or a scalar tensor, with which rows sample independently of each other by their indices. Or
            (B,), a seed for each row: equal rows with equal seeds then get equal texts in any batch. Only the low 32
            bits are used.
        temperature: the divisor of the logits. Below 1 probable tokens get more probable; 0 is greedy. A number, a
            scalar tensor or (B,), as top_k and top_p.
        top_k: the number of most probable tokens to sample from; 0 for all.
        top_p: the cumulative probability of the most probable tokens to sample from, above 0; 1 for all.
        min_p: the minimum probability of a token relative to the most probable token; 0 for all.

    Returns:
        `Decoded`: token_ids (B, L), lengths (B,), scores (B,), alignment (B, L, S) or None. The scores use the model's
        own probabilities, without temperature, top_k and top_p.

    Example:
        >>> after = ops.log(ops.convert_to_tensor([[0.0, 0.6, 0.4], [0.4, 0.3, 0.3], [0.9, 0.1, 0.0]]))
        >>> step = lambda token_ids, index, state: (ops.take(after, token_ids, axis=0), state, None)
        >>> sample(step, (), start_ids=[0], end_id=0, max_length=4, seed=1, top_k=1).token_ids.numpy().tolist()
        [[1, 0, 0, 0]]

    Source: top-k: Fan et al. 2018, "Hierarchical neural story generation", section 5.4; the nucleus: Holtzman et al.
        2020, "The curious case of neural text degeneration", section 3.1; min-p: Nguyen et al. 2024, "Turning up the
        heat: min-p sampling for creative and coherent LLM outputs".
    """
    start_ids = ops.convert_to_tensor(start_ids, dtype="int32")
    settings = Sampling.of_rows(
        ops.shape(start_ids)[0], seed=seed, temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p
    )

    def choose(logits: Any, loop: LoopState) -> Any:
        if suppressed_ids:
            logits = logits + suppression_bias(suppressed_ids, logits.shape[-1])
        return draw(logits, settings.take(loop.rows), index=loop.index, done=loop.done)

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


class Sampling(NamedTuple):
    """The sampling parameters of each row, (B,) each; see `sample`.

    Attributes:
        stream: int, distinguishes rows of the same seed.
    """

    seed: Any
    stream: Any
    temperature: Any
    top_k: Any
    top_p: Any
    min_p: Any

    @classmethod
    def of_rows(cls, rows: Any, *, seed: Any, temperature: Any, top_k: Any, top_p: Any, min_p: Any) -> "Sampling":
        """Broadcast settings to B rows; rows with a shared seed sample independently of each other."""
        seed = ops.cast(seed, "int32")
        streams = ops.zeros((rows,), dtype="int32") if len(seed.shape) else ops.arange(rows, dtype="int32")
        fractions = (ops.broadcast_to(ops.cast(value, "float32"), (rows,)) for value in (temperature, top_p, min_p))
        temperature, top_p, min_p = fractions
        top_k = ops.broadcast_to(ops.cast(top_k, "int32"), (rows,))
        return cls(ops.broadcast_to(seed, (rows,)), streams, temperature, top_k, top_p, min_p)

    def take(self, rows: Any) -> "Sampling":
        """Return the settings of the given rows."""
        return Sampling(*(ops.take(setting, rows, axis=0) for setting in self))


def draw(logits: Any, own: Sampling, *, index: Any, done: Any) -> Any:
    """Sample the next token of each row.

    Args:
        logits: (N, V) float32.
        own: the settings of these rows.
        index: the position of the next token, a scalar or (N,) int.
        done: (N,) bool, rows whose token is not used.

    Returns:
        (N,) int32; for a row with NaN weights the most probable token.
    """
    most_likely = ops.cast(ops.argmax(logits, axis=-1), "int32")
    weights = ops.softmax(logits / ops.maximum(own.temperature, GREEDY_TEMPERATURE)[:, None], axis=-1)
    smallest = own.min_p * ops.max(weights, axis=-1)

    def draw_again(attempt: Any, weights: Any, token_ids: Any, is_accepted: Any) -> tuple:
        drawn = _draw(uniform((own.seed, own.stream), (index, attempt)), weights, most_likely)
        above, is_allowed = _accept(weights, drawn, own, smallest)
        token_ids = ops.where(is_accepted, token_ids, drawn)
        return attempt + 1, above, token_ids, ops.logical_or(is_accepted, is_allowed)

    is_accepted = ops.logical_or(done, ops.logical_or(own.temperature < GREEDY_TEMPERATURE, own.top_k == 1))
    *_, token_ids, is_accepted = ops.while_loop(
        lambda attempt, *drawing: ops.logical_and(attempt < MAX_ATTEMPTS, ops.logical_not(ops.all(drawing[-1]))),
        draw_again,
        (ops.zeros((), dtype="int32"), weights, most_likely, is_accepted),
    )
    return ops.where(is_accepted, token_ids, most_likely)


def _accept(weights: Any, drawn: Any, own: Sampling, smallest: Any) -> tuple[Any, Any]:
    """Return the weights of tokens more probable than the drawn token, others 0, and whether the settings allow it.

    If not, all allowed tokens are among the more probable tokens, in their true proportions: rejection sampling from
    these tokens is equivalent to sorting and truncating all tokens first, which costs far more than a few attempts.
    """
    weight, drawn = pick(weights, drawn[:, None]), drawn[:, None]
    is_smaller_id = ops.arange(weights.shape[-1], dtype="int32") < drawn
    is_above = ops.logical_or(weights > weight, ops.logical_and(weights == weight, is_smaller_id))
    is_above = ops.cast(is_above, "float32")
    above = weights * is_above
    num_above, sum_above = ops.sum(is_above, axis=-1), ops.sum(above, axis=-1)
    in_top_k = ops.logical_or(own.top_k <= 0, num_above < ops.cast(own.top_k, "float32"))
    in_nucleus = ops.logical_or(own.top_p >= 1.0, sum_above < own.top_p)
    is_allowed = ops.logical_and(ops.logical_and(in_top_k, in_nucleus), weight[:, 0] >= smallest)
    return above, ops.logical_or(num_above == 0.0, is_allowed)


def _draw(chance: Any, weights: Any, otherwise: Any) -> Any:
    """Draw a column of each row by its weights (B, V), given uniform numbers `chance` (B,): (B,).

    The column is where the cumulative sum exceeds the fraction `chance` of the total. The search first finds the group,
    then the column in it, since a cumulative sum over a whole row is slow.
    """
    groups = grouped(weights, fill=0.0)
    _, num_groups, size = groups.shape
    totals = ops.sum(groups, axis=-1)
    sums = ops.cumsum(totals, axis=-1)
    target = chance[:, None] * sums[:, -1:]
    group = _passing(sums, target)
    sums = pick(sums - totals, group) + ops.cumsum(pick(groups, group)[:, 0], axis=-1)  # (B, size)
    drawn = ops.minimum(group * size + _passing(sums, target), weights.shape[-1] - 1)
    # Because of rounding the result could be a column with a weight of 0.
    return ops.where(pick(weights, drawn)[:, 0] > 0.0, drawn[:, 0], otherwise)


def _passing(sums: Any, target: Any) -> Any:
    """Find the first index where the sums (B, n) exceed the target (B, 1), or else the last: (B, 1)."""
    index = ops.sum(ops.cast(sums <= target, "int32"), axis=-1, keepdims=True)
    return ops.minimum(index, sums.shape[-1] - 1)
