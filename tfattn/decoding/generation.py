"""Text generation with a decoder: caching, penalties and sampling."""

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
    """The penalties of tokens that are already in a text, (B,) float32 each.

    Attributes:
        repetition: the divisor of positive logits, and factor of negative logits, of tokens in the prompt or the
            generated text; 1 for no penalty.
        presence: subtracted from the logits of generated tokens; 0 for no penalty.
        frequency: subtracted for each occurrence of a generated token; 0 for no penalty.

    Source: repetition: Keskar et al. 2019, "CTRL", section 4.1; presence and frequency: OpenAI's API.
    """

    repetition: Any
    presence: Any
    frequency: Any

    def apply(self, logits: Any, in_prompt: Any, counts: Any) -> Any:
        """Apply the penalties to the logits of the next token.

        Args:
            logits: (N, V) float32.
            in_prompt: (N, V) float32, above 0 for tokens of the prompt.
            counts: (N, V) float32, the occurrences of each token in the generated text.
        """
        repetition, presence, frequency = (penalty[:, None] for penalty in self)
        is_generated = counts > 0
        penalized = ops.where(logits > 0, logits / repetition, logits * repetition)
        logits = ops.where(ops.logical_or(is_generated, in_prompt > 0), penalized, logits)
        return logits - presence * ops.cast(is_generated, "float32") - frequency * counts


class _State(NamedTuple):
    """The state of the loop: the cache, and the occurrences of each token in prompt and generated text, (N, V)."""

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
    num_top_logprobs: int | None = None,
) -> Decoded:
    """Continue prompts until each row generates an end token or reaches its limit.

    Args:
        step: reads a token of each row: `step(token_ids (N,), cache)` returns the logits of the next token (N, V) and
            the cache.
        cache: the cache of the prompts without their last tokens.
        prompt_ids: (B, P) int, the prompts, padded at the end.
        padding_mask: (B, P) bool, True at real tokens; each row has at least one.
        vocabulary_size: V.
        end_ids: the tokens that end a text.
        max_length: L, the maximum number of generated tokens; an integer, or in TensorFlow a scalar tensor.
        sampling: the sampling parameters of each row; a temperature of 0 is greedy.
        penalties: the penalties of each row.
        length_limit: the maximum number of tokens of each row, (B,) int; None for L.
        suppressed_ids: tokens that are never generated.
        is_last, num_top_logprobs: as for `decode`.

    Returns:
        `Decoded`, without the prompts; scores and details are computed from the model's own probabilities, without
        temperature and penalties.
    """
    prompt_ids, real = ops.cast(prompt_ids, "int32"), ops.cast(padding_mask, "float32")
    batch = ops.shape(prompt_ids)[0]
    last = ops.cast(ops.sum(real, axis=1), "int32")[:, None] - 1
    start_ids = ops.take_along_axis(prompt_ids, last, axis=1)[:, 0]
    starts = ops.arange(batch, dtype=INDEX_DTYPE)[:, None] * vocabulary_size
    indices = ops.reshape(starts + ops.cast(prompt_ids, INDEX_DTYPE), (-1, 1))
    in_prompt = ops.scatter(indices, ops.reshape(real, (-1,)), (batch * vocabulary_size,))  # occurrences
    in_prompt = ops.reshape(in_prompt, (batch, vocabulary_size))

    def read(token_ids: Any, index: Any, state: _State) -> tuple:
        is_generated = ops.cast(index > 0, "float32")  # the first token is the last of the prompt
        counts = state.counts + is_generated * ops.one_hot(token_ids, vocabulary_size)
        logits, cache = step(token_ids, state.cache)
        return logits, _State(cache, state.in_prompt, counts), None

    def choose(logits: Any, loop: LoopState) -> Any:
        state, _ = loop.carried
        own = Penalties(*(ops.take(penalty, loop.rows, axis=0) for penalty in penalties))
        logits = own.apply(logits, state.in_prompt, state.counts)
        if suppressed_ids:
            logits = logits + suppression_bias(suppressed_ids, vocabulary_size)
        return draw(logits, sampling.take(loop.rows), index=loop.index, done=loop.done)

    def make_room(state: _State, index: Any, until: Any) -> _State:
        return state._replace(cache=reserve(state.cache, index, until))

    return decode(
        read,
        _State(cache, in_prompt, ops.zeros_like(in_prompt)),
        choose,
        start_ids=start_ids,
        end_id=end_ids,
        max_length=max_length,
        length_limit=length_limit,
        shrink_batch=supports_dynamic_shapes(),
        make_room=make_room,
        is_last=is_last,
        num_top_logprobs=num_top_logprobs,
    )


def supports_dynamic_shapes() -> bool:
    """Return whether finished rows can leave the loop, and caches grow: loops with dynamic shapes need TensorFlow."""
    return keras.backend.backend() == "tensorflow"


def reserve(cache: Cache, index: Any, until: Any) -> Cache:
    """Reserve cache positions for `decode_batch`: for a round, or without dynamic shapes for the whole loop."""
    return cache.merged(CACHE_BLOCK if supports_dynamic_shapes() else until)
