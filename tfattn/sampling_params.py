"""The sampling parameters of a language model, with the names of OpenAI's API and vLLM."""

from dataclasses import dataclass
from typing import Annotated, NamedTuple, get_args, get_type_hints

from annotated_types import Ge, Le

# All values within these ranges, and the numbers computed from them, are finite in float32.
MIN_FLOAT = 1e-30
MAX_FLOAT = 1e30
MAX_INT = 2**31 - 1

Temperature = Annotated[float, Ge(0.0), Le(MAX_FLOAT)]
TopP = Annotated[float, Ge(MIN_FLOAT), Le(1.0)]


@dataclass(frozen=True, kw_only=True)
class SamplingParams:
    """The sampling parameters of the next token; the defaults sample from the unchanged distribution.

    Args:
        temperature: the divisor of the logits; 0 is greedy.
        top_k: the number of most probable tokens to sample from; 0 or -1 for all.
        top_p: the cumulative probability of the most probable tokens to sample from, above 0; 1 for all.
        min_p: the minimum probability of a token relative to the most probable token; 0 for all.
        repetition_penalty: the divisor of positive logits, and factor of negative logits, of tokens in the prompt or
            the generated text; 1 for no penalty.
        presence_penalty: subtracted from the logits of generated tokens.
        frequency_penalty: subtracted for each occurrence of a generated token.
    """

    temperature: Temperature = 1.0
    top_k: Annotated[int, Ge(-1), Le(MAX_INT)] = 0
    top_p: TopP = 1.0
    min_p: Annotated[float, Ge(0.0), Le(1.0)] = 0.0
    repetition_penalty: Annotated[float, Ge(0.01), Le(100.0)] = 1.0
    presence_penalty: Annotated[float, Ge(-2.0), Le(2.0)] = 0.0
    frequency_penalty: Annotated[float, Ge(-2.0), Le(2.0)] = 0.0


class Range(NamedTuple):
    """The type and the range of a parameter."""

    kind: type
    low: float
    high: float

    def __str__(self) -> str:
        return f"from {self.low:.12g} to {self.high:.12g}"


ANNOTATIONS = get_type_hints(SamplingParams, include_extras=True)
RANGES = {
    name: Range(kind, low.ge, high.le)
    for name, (kind, low, high) in ((name, get_args(annotation)) for name, annotation in ANNOTATIONS.items())
}
