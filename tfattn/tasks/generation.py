"""The `generation:` section: how a trained decoder continues texts."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import keras
from keras import ops
from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

from tfattn.config.types import Fraction
from tfattn.decoding.beam import beam_search
from tfattn.decoding.cache import Cache
from tfattn.decoding.generation import Penalties, generate, goes_in_rounds, with_room
from tfattn.decoding.loop import Decoded
from tfattn.decoding.rounds import LoopState
from tfattn.decoding.sampling import Sampling
from tfattn.models.contracts.decoder import Decoder
from tfattn.ops.indexing import pick

OpenAiPenalty = Annotated[float, Field(ge=-2.0, le=2.0)]


class Generation:
    """Continues prompts, by default as these settings say; each request may say otherwise.

    Args:
        max_new_tokens: the most tokens that are written.
        temperature: divides the logits; 0 takes the likeliest token.
        top_k: how many of the likeliest tokens may be drawn; 0 for all.
        top_p: the sum of the probabilities that the likeliest tokens need to reach, above 0; 1 for all.
        min_p: the fraction of the largest probability that a token needs to have; 0 for all.
        repetition_penalty: divides the logits of tokens that stand in the text already; 1 changes nothing.
        presence_penalty: is subtracted from the logits of tokens that were written; from -2 to 2.
        frequency_penalty: is subtracted for each time that a token was written; from -2 to 2.
        num_beams: of the export's signature `n_best`, how many texts are written side by side, and returned.
        length_penalty: of the same, how much longer texts are favoured, alpha of Wu et al. 2016, eq. 14.
        system: what is said before a chat that does not begin with a system message; null for nothing.
    """

    def __init__(
        self,
        *,
        max_new_tokens: PositiveInt = 64,
        temperature: NonNegativeFloat = 0.8,
        top_k: NonNegativeInt = 0,
        top_p: Annotated[float, Field(gt=0.0, le=1.0)] = 0.95,
        min_p: Fraction = 0.0,
        repetition_penalty: PositiveFloat = 1.0,
        presence_penalty: OpenAiPenalty = 0.0,
        frequency_penalty: OpenAiPenalty = 0.0,
        num_beams: PositiveInt = 4,
        length_penalty: NonNegativeFloat = 0.6,
        system: str | None = None,
    ):
        self.max_new_tokens = max_new_tokens
        self.temperature = temperature
        self.top_k = top_k
        self.top_p = top_p
        self.min_p = min_p
        self.repetition_penalty = repetition_penalty
        self.presence_penalty = presence_penalty
        self.frequency_penalty = frequency_penalty
        self.num_beams = num_beams
        self.length_penalty = length_penalty
        self.system = system


def sampled(
    model: Decoder,
    prompt_ids: Any,
    padding_mask: Any,
    *,
    end_id: int,
    suppressed_ids: Sequence[int],
    max_new_tokens: Any,
    sampling: Sampling,
    penalties: Penalties,
    is_last: Callable[[Any, LoopState], Any] | None = None,
    num_likeliest: int | None = None,
) -> Decoded:
    """Continue B prompts, each token drawn by the settings of its row.

    Args:
        model: what writes.
        prompt_ids: (B, P) int, padded at their ends.
        padding_mask: (B, P) bool, True at real tokens, one at least in each row.
        end_id: the token that ends a text.
        suppressed_ids: tokens that are never written.
        max_new_tokens: (B,) int; fewer are written where the model takes no more.
        sampling, penalties, is_last, num_likeliest: as for `generate`.
    """
    limit = length_limit(model, padding_mask, max_new_tokens)
    return generate(
        model.step,
        _read(model, prompt_ids, padding_mask),
        prompt_ids=prompt_ids,
        padding_mask=padding_mask,
        vocabulary_size=model.vocabulary_size,
        end_ids=[end_id],
        max_length=ops.max(limit),
        length_limit=limit,
        sampling=sampling,
        penalties=penalties,
        suppressed_ids=suppressed_ids,
        is_last=is_last,
        num_likeliest=num_likeliest,
    )


def searched(
    model: Decoder,
    prompt_ids: Any,
    padding_mask: Any,
    *,
    end_id: int,
    suppressed_ids: Sequence[int],
    max_new_tokens: Any,
    num_beams: int,
    length_penalty: float,
) -> Decoded:
    """Continue B prompts with the likeliest texts that beam search finds, all W beams of each: (B, W, ...).

    Args:
        model, prompt_ids, padding_mask, end_id, suppressed_ids, max_new_tokens: as for `sampled`.
        num_beams, length_penalty: as for `beam_search`.
    """
    limit = length_limit(model, padding_mask, max_new_tokens)
    last = ops.sum(ops.cast(padding_mask, "int32"), axis=1, keepdims=True) - 1
    cache = _read(model, prompt_ids, padding_mask)
    return beam_search(
        lambda token_ids, index, cache: (*model.step(token_ids, cache), None),
        keras.tree.map_structure(lambda x: ops.repeat(x, num_beams, axis=0), cache),
        start_ids=pick(ops.cast(prompt_ids, "int32"), last)[:, 0],
        end_id=end_id,
        max_length=ops.max(limit),
        length_limit=limit,
        num_beams=num_beams,
        length_penalty=length_penalty,
        num_results=num_beams,
        suppressed_ids=suppressed_ids,
        shrink_batch=goes_in_rounds(),
        make_room=with_room,
    )


def _read(model: Decoder, prompt_ids: Any, padding_mask: Any) -> Cache:
    """Read all of each prompt but its last token."""
    cache = model.empty_cache(ops.shape(prompt_ids)[0])
    return model.read(prompt_ids[:, :-1], cache, padding_mask[:, 1:])[1]


def length_limit(model: Decoder, padding_mask: Any, max_new_tokens: Any) -> Any:
    """Return how many tokens may come behind each prompt, (B,) int32: as many as are wanted and the model takes."""
    room = model.max_sequence_length - ops.sum(ops.cast(padding_mask, "int32"), axis=1)
    return ops.maximum(ops.minimum(ops.cast(max_new_tokens, "int32"), room), 0)
