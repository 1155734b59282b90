"""The settings with which a language model chooses tokens, by the names of OpenAI's API and vLLM."""

from dataclasses import dataclass
from typing import Annotated, NamedTuple, get_args, get_type_hints

from annotated_types import Ge, Le
from pydantic import Field

# Every value within its range is finite in float32, and so is every number that is computed from it.
SMALLEST = 1e-30
LARGEST = 1e30
LARGEST_INT = 2**31 - 1

Temperature = Annotated[float, Field(ge=0.0, le=LARGEST, allow_inf_nan=False)]
TopP = Annotated[float, Field(ge=SMALLEST, le=1.0, allow_inf_nan=False)]


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
    top_k: Annotated[int, Field(ge=-1, le=LARGEST_INT)] = 0
    top_p: TopP = 1.0
    min_p: Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)] = 0.0
    repetition_penalty: Annotated[float, Field(ge=0.01, le=100.0, allow_inf_nan=False)] = 1.0
    presence_penalty: Annotated[float, Field(ge=-2.0, le=2.0, allow_inf_nan=False)] = 0.0
    frequency_penalty: Annotated[float, Field(ge=-2.0, le=2.0, allow_inf_nan=False)] = 0.0


class Range(NamedTuple):
    """What a number may be: its type, and from where to where it goes."""

    kind: type
    low: float
    high: float

    def __str__(self) -> str:
        return f"from {self.low:.12g} to {self.high:.12g}"


def range_of(annotation: object) -> Range:
    """Read the range of a number from its annotation."""
    kind, field = get_args(annotation)
    bounds = {type(bound): bound for bound in field.metadata}
    return Range(kind, bounds[Ge].ge, bounds[Le].le)


ANNOTATIONS = get_type_hints(SamplingParams, include_extras=True)
RANGES = {name: range_of(annotation) for name, annotation in ANNOTATIONS.items()}
