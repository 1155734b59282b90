"""The settings with which a language model chooses tokens, by the names of OpenAI's API and vLLM."""

from dataclasses import dataclass
from typing import Annotated, NamedTuple, get_args, get_type_hints

from annotated_types import Ge, Le

# Every value within its range is finite in float32, and so is every number that is computed from it.
SMALLEST = 1e-30
LARGEST = 1e30
LARGEST_INT = 2**31 - 1

Temperature = Annotated[float, Ge(0.0), Le(LARGEST)]
TopP = Annotated[float, Ge(SMALLEST), Le(1.0)]


@dataclass(frozen=True, kw_only=True)
class SamplingParams:
    """How the next token of a text is chosen; the defaults change nothing.

    Args:
        temperature: divides the logits; 0 takes the most probable token.
        top_k: how many of the most probable tokens may be drawn; 0 or -1 for all.
        top_p: the sum of probabilities that the most probable tokens need to reach, above 0; 1 for all.
        min_p: the fraction of the largest probability that a token needs to have; 0 for all.
        repetition_penalty: divides the logits of tokens of the prompt or the generated text, or multiplies those below
            0; 1 changes nothing.
        presence_penalty: is subtracted from the logits of tokens that were generated.
        frequency_penalty: is subtracted for each time that a token was generated.
    """

    temperature: Temperature = 1.0
    top_k: Annotated[int, Ge(-1), Le(LARGEST_INT)] = 0
    top_p: TopP = 1.0
    min_p: Annotated[float, Ge(0.0), Le(1.0)] = 0.0
    repetition_penalty: Annotated[float, Ge(0.01), Le(100.0)] = 1.0
    presence_penalty: Annotated[float, Ge(-2.0), Le(2.0)] = 0.0
    frequency_penalty: Annotated[float, Ge(-2.0), Le(2.0)] = 0.0


class Range(NamedTuple):
    """What a number may be: its type, and from where to where it goes."""

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
