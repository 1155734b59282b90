"""The sampling parameters of a language model, with the names of OpenAI's API and vLLM.

The options of `tfattn generate`, the section `generation:`, the inputs of an export's signatures and the fields of
the server's requests derive from them.
"""

import dataclasses
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

from annotated_types import Ge, Le, MaxLen, MinLen

# All values within these ranges, and the numbers computed from them, are finite in float32.
MIN_FLOAT = 1e-30
MAX_FLOAT = 1e30
MAX_INT = 2**31 - 1
MAX_STOP_LENGTH = 128  # characters

Temperature = Annotated[float, Ge(0.0), Le(MAX_FLOAT)]
TopP = Annotated[float, Ge(MIN_FLOAT), Le(1.0)]
Stop = Annotated[str, MinLen(1), MaxLen(MAX_STOP_LENGTH)]
Stops = Annotated[tuple[Stop, ...], MaxLen(16)]
NumTexts = Annotated[int, Ge(1), Le(16)]
NumLogprobs = Annotated[int, Ge(0), Le(20)]  # `decode_step` returns 20
MaxTokens = Annotated[int, Ge(1), Le(MAX_INT)]


@dataclass(frozen=True, kw_only=True)
class SamplingParams:
    """The sampling parameters of a request; the defaults sample from the unchanged distribution.

    Args:
        temperature: the divisor of the logits; 0 is greedy.
        top_k: the number of most probable tokens to sample from; 0 or -1 for all.
        top_p: the cumulative probability of the most probable tokens to sample from, above 0; 1 for all.
        min_p: the minimum probability of a token relative to the most probable token; 0 for all.
        repetition_penalty: the divisor of positive logits, and factor of negative logits, of tokens in the prompt or
            the generated text; 1 for no penalty.
        presence_penalty: subtracted from the logits of generated tokens.
        frequency_penalty: subtracted for each occurrence of a generated token.
        stop: strings that end the text; they are not a part of it.
        seed: the random seed; the low 32 bits count; none for a random seed.
        n: the number of texts for each prompt. The first text has exactly the seed, for every n.
        logprobs: the number of most likely tokens to report for each position, in addition to the log probability of
            the generated token; none for no log probabilities.
        max_tokens: the maximum number of generated tokens; none for the whole context.
    """

    temperature: Temperature = 1.0
    top_k: Annotated[int, Ge(-1), Le(MAX_INT)] = 0
    top_p: TopP = 1.0
    min_p: Annotated[float, Ge(0.0), Le(1.0)] = 0.0
    repetition_penalty: Annotated[float, Ge(0.01), Le(100.0)] = 1.0
    presence_penalty: Annotated[float, Ge(-2.0), Le(2.0)] = 0.0
    frequency_penalty: Annotated[float, Ge(-2.0), Le(2.0)] = 0.0
    stop: Stops = ()
    seed: Annotated[int, Ge(-(2**63)), Le(2**64 - 1)] | None = None
    n: NumTexts = 1
    logprobs: NumLogprobs | None = None
    max_tokens: MaxTokens | None = 16

    @property
    def of_logits(self) -> dict[str, float]:
        """The parameters that change the distribution of the next token, by name."""
        return {name: getattr(self, name) for name in LOGITS_PARAMS}


class Range(NamedTuple):
    """The type and the range of a parameter."""

    kind: type
    low: float
    high: float

    def __str__(self) -> str:
        low, high = (f"{limit:.12g}" if self.kind is float else f"{limit}" for limit in self[1:])
        return f"from {low} to {high}"


def _range(annotation: Any) -> Range | None:
    """Return the range of a number, which may be optional; None for other types."""
    required = next((kind for kind in get_args(annotation) if get_origin(kind) is Annotated), annotation)
    kind, *limits = get_args(required)
    return Range(kind, limits[0].ge, limits[1].le) if kind in (int, float) else None


ANNOTATIONS = get_type_hints(SamplingParams, include_extras=True)
DEFAULTS = {field.name: field.default for field in dataclasses.fields(SamplingParams)}
RANGES = {name: limits for name, annotation in ANNOTATIONS.items() if (limits := _range(annotation)) is not None}
LOGITS_PARAMS = (
    *("temperature", "top_k", "top_p", "min_p"),
    *("repetition_penalty", "presence_penalty", "frequency_penalty"),
)
