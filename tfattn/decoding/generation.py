"""Continuing texts with a decoder: what is read, what is penalized and what is drawn."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import keras
from keras import ops

from tfattn.decoding.cache import Cache
from tfattn.decoding.loop import Decoded, decode
from tfattn.decoding.rounds import CACHE_BLOCK, LoopState
from tfattn.decoding.rows import suppression_bias
from tfattn.decoding.sampling import Sampling, draw
from tfattn.ops.indexing import INDEX_DTYPE


class Penalties(NamedTuple):
    """How much less likely tokens become that stand in a text already, (B,) float32 each.

    Attributes:
        repetition: divides the logits of tokens of the prompt and of what was written, or multiplies those below 0; 1
            changes nothing.
        presence: is subtracted from the logits of tokens that were written; 0 changes nothing.
        frequency: is subtracted for each time that a token was written; 0 changes nothing.

    Source: repetition: Keskar et al. 2019, "CTRL", section 4.1; the others are those of OpenAI's API.
    """

    repetition: Any
    presence: Any
    frequency: Any

    def applied(self, logits: Any, in_prompt: Any, counts: Any) -> Any:
        """Change the logits of the next token.

        Args:
            logits: (N, V) float32.
            in_prompt: (N, V) float32, above 0 for tokens of the prompt.
            counts: (N, V) float32, how often each token was written.
        """
        repetition, presence, frequency = (penalty[:, None] for penalty in self)
        is_written = counts > 0
        changed = ops.where(logits > 0, logits / repetition, logits * repetition)
        logits = ops.where(ops.logical_or(is_written, in_prompt > 0), changed, logits)
        return logits - presence * ops.cast(is_written, "float32") - frequency * counts


class _Reading(NamedTuple):
    """The state of the loop: what the decoder remembers, and how often it has read each token, (N, V)."""

    cache: Cache
    in_prompt: Any
    counts: Any


def generate(
    step: Callable[[Any, Cache], tuple[Any, Cache]],
    cache: Cache,
    *,
    prompt_ids: Any,
    padding_mask: Any,
    vocabulary_size: int,
    end_ids: Sequence[int],
    max_length: Any,
    sampling: Sampling,
    penalties: Penalties,
    length_limit: Any = None,
    suppressed_ids: Sequence[int] = (),
    is_last: Callable[[Any, LoopState], Any] | None = None,
    num_likeliest: int | None = None,
) -> Decoded:
    """Continue prompts until each has its end or reaches its limit.

    Args:
        step: reads a token of each row: `step(token_ids (N,), cache)` returns the logits of the next (N, V) and the
            cache.
        cache: of the prompts without their last tokens.
        prompt_ids: (B, P) int, the prompts, padded at their ends.
        padding_mask: (B, P) bool, True at their tokens, one at least in each row.
        vocabulary_size: V.
        end_ids: tokens each of which ends a text.
        max_length: L, the most tokens that are written; an integer, or in TensorFlow a scalar tensor.
        sampling: how each row draws; at a temperature of 0 it takes the likeliest token.
        penalties: of each row.
        length_limit: at most how many tokens a row gets, (B,) int; None stands for L.
        suppressed_ids: tokens that are never written.
        is_last, num_likeliest: as for `decode`.

    Returns:
        `Decoded`, of what is written alone; scores and details are of the model's own probabilities, without
        temperature and penalties.
    """
    prompt_ids, real = ops.cast(prompt_ids, "int32"), ops.cast(padding_mask, "float32")
    batch = ops.shape(prompt_ids)[0]
    last = ops.cast(ops.sum(real, axis=1), "int32")[:, None] - 1
    start_ids = ops.take_along_axis(prompt_ids, last, axis=1)[:, 0]
    starts = ops.arange(batch, dtype=INDEX_DTYPE)[:, None] * vocabulary_size
    places = ops.reshape(starts + ops.cast(prompt_ids, INDEX_DTYPE), (-1, 1))
    in_prompt = ops.scatter(places, ops.reshape(real, (-1,)), (batch * vocabulary_size,))  # sums of what is real
    in_prompt = ops.reshape(in_prompt, (batch, vocabulary_size))

    def read(token_ids: Any, index: Any, state: _Reading) -> tuple:
        is_written = ops.cast(index > 0, "float32")  # the first is the last of the prompt
        counts = state.counts + is_written * ops.one_hot(token_ids, vocabulary_size)
        logits, cache = step(token_ids, state.cache)
        return logits, _Reading(cache, state.in_prompt, counts), None

    def choose(logits: Any, loop: LoopState) -> Any:
        state, _ = loop.carried
        own = Penalties(*(ops.take(penalty, loop.rows, axis=0) for penalty in penalties))
        logits = own.applied(logits, state.in_prompt, state.counts)
        if suppressed_ids:
            logits = logits + suppression_bias(suppressed_ids, vocabulary_size)
        return draw(logits, sampling.taken(loop.rows), index=loop.index, done=loop.done)

    def make_room(state: _Reading, index: Any, until: Any) -> _Reading:
        return state._replace(cache=with_room(state.cache, index, until))

    return decode(
        read,
        _Reading(cache, in_prompt, ops.zeros_like(in_prompt)),
        choose,
        start_ids=start_ids,
        end_id=end_ids,
        max_length=max_length,
        length_limit=length_limit,
        shrink_batch=goes_in_rounds(),
        make_room=make_room,
        is_last=is_last,
        num_likeliest=num_likeliest,
    )


def goes_in_rounds() -> bool:
    """Tell whether rows that are done leave the loop, and caches grow between rounds: only TensorFlow can do that."""
    return keras.backend.backend() == "tensorflow"


def with_room(cache: Cache, index: Any, until: Any) -> Cache:
    """Make room in a cache, as `decode_batch` asks for it: of a round, or of the whole loop, which begins at 0."""
    return cache.merged(CACHE_BLOCK if goes_in_rounds() else until)
