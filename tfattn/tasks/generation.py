"""The `generation:` section: how a decoder continues texts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import keras
from keras import ops
from pydantic import NonNegativeFloat, PositiveInt

from tfattn.config.types import Given
from tfattn.decoding.beam import beam_search
from tfattn.decoding.cache import Cache
from tfattn.decoding.generation import Penalties, generate, reserve, supports_dynamic_shapes
from tfattn.decoding.loop import Decoded
from tfattn.decoding.rounds import LoopState
from tfattn.decoding.sampling import Sampling
from tfattn.models.contracts.decoder import Decoder
from tfattn.ops.indexing import pick
from tfattn.sampling_params import MaxTokens, NumLogprobs, NumTexts, SamplingParams, Temperature, TopP


@dataclass(frozen=True, kw_only=True)
class Generation(SamplingParams):
    """The default settings of generation; each request may override them.

    Args:
        n, logprobs: of a request only.
        num_beams: the number of beams, and of returned texts, of the export's signature `n_best`.
        length_penalty: the preference of `n_best` for longer texts, alpha of Wu et al. 2016, eq. 14.
        system: the system message of chats that do not begin with a system message; null for none.
    """

    temperature: Temperature = 0.8
    top_p: TopP = 0.95
    n: Given[NumTexts] = 1
    logprobs: Given[NumLogprobs | None] = None
    max_tokens: MaxTokens | None = 64
    num_beams: PositiveInt = 4
    length_penalty: NonNegativeFloat = 0.6
    system: str | None = None


def sample_continuations(
    model: Decoder,
    prompt_ids: Any,
    padding_mask: Any,
    *,
    end_ids: Sequence[int],
    suppressed_ids: Sequence[int],
    max_tokens: Any,
    sampling: Sampling,
    penalties: Penalties,
    is_last: Callable[[Any, LoopState], Any] | None = None,
    num_top_logprobs: int | None = None,
) -> Decoded:
    """Continue B prompts by sampling with the settings of each row.

    Args:
        model: the decoder.
        prompt_ids: (B, P) int, padded at the end.
        padding_mask: (B, P) bool, True at real tokens; each row has at least one.
        end_ids: the tokens that end a text.
        suppressed_ids: tokens that are never generated.
        max_tokens: (B,) int; the model's maximum sequence length also applies.
        sampling, penalties, is_last, num_top_logprobs: as for `generate`.
    """
    limit = length_limit(model, padding_mask, max_tokens)
    return generate(
        model.step,
        _read(model, prompt_ids, padding_mask),
        prompt_ids=prompt_ids,
        padding_mask=padding_mask,
        vocabulary_size=model.vocabulary_size,
        end_ids=end_ids,
        max_length=ops.max(limit),
        length_limit=limit,
        sampling=sampling,
        penalties=penalties,
        suppressed_ids=suppressed_ids,
        is_last=is_last,
        num_top_logprobs=num_top_logprobs,
    )


def search_continuations(
    model: Decoder,
    prompt_ids: Any,
    padding_mask: Any,
    *,
    end_id: int,
    suppressed_ids: Sequence[int],
    max_tokens: Any,
    num_beams: int,
    length_penalty: float,
) -> Decoded:
    """Continue B prompts by beam search, and return all W beams of each: (B, W, ...).

    Args:
        model, prompt_ids, padding_mask, suppressed_ids, max_tokens: as for `sample_continuations`.
        end_id: the token that ends a text.
        num_beams, length_penalty: as for `beam_search`.
    """
    limit = length_limit(model, padding_mask, max_tokens)
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
        shrink_batch=supports_dynamic_shapes(),
        make_room=reserve,
    )


def _read(model: Decoder, prompt_ids: Any, padding_mask: Any) -> Cache:
    """Read all tokens of each prompt except the last."""
    cache = model.empty_cache(ops.shape(prompt_ids)[0])
    return model.read(prompt_ids[:, :-1], cache, padding_mask[:, 1:])[1]


def length_limit(model: Decoder, padding_mask: Any, max_tokens: Any) -> Any:
    """Return the maximum number of new tokens of each prompt within the model's limit, (B,) int32."""
    room = model.max_sequence_length - ops.sum(ops.cast(padding_mask, "int32"), axis=1)
    return ops.maximum(ops.minimum(ops.cast(max_tokens, "int32"), room), 0)
