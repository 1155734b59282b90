"""The angles of rotary positions for each position, and how they are scaled for texts longer than those of training.

The angles are numbers of the model, not tensors: this module needs no Keras, so that configurations are checked fast.
"""

import math
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, PositiveFloat, PositiveInt
from typing_extensions import TypedDict

BASE = 10000.0  # of the papers; models for long texts use a larger base

_CLOSED = ConfigDict(extra="forbid")


class Linear(TypedDict):
    """All angles are divided by a factor (Chen et al. 2023, "Extending context window of large language models")."""

    __pydantic_config__ = _CLOSED
    name: Literal["linear"]
    factor: PositiveFloat


class Llama3(TypedDict):
    """Long waves are stretched by a factor, short waves are kept, with a linear transition in between (Llama 3.1).

    The transition is between waves of original_length / high_frequency_factor and original_length /
    low_frequency_factor positions.
    """

    __pydantic_config__ = _CLOSED
    name: Literal["llama3"]
    factor: PositiveFloat
    low_frequency_factor: PositiveFloat
    high_frequency_factor: PositiveFloat
    original_length: PositiveInt


class Yarn(TypedDict):
    """Waves are stretched by how often they turn in the original length (Peng et al. 2023, "YaRN").

    Waves with more than beta_fast turns are kept, waves with fewer than beta_slow turns are stretched by the factor.
    Queries and keys are multiplied by attention_factor. `truncate` rounds the bounds to whole components.
    """

    __pydantic_config__ = _CLOSED
    name: Literal["yarn"]
    factor: PositiveFloat
    original_length: PositiveInt
    beta_fast: PositiveFloat
    beta_slow: PositiveFloat
    attention_factor: PositiveFloat
    truncate: bool


class Factors(TypedDict):
    """Each wave is stretched by its own factor, as GGUF files state any of these methods."""

    __pydantic_config__ = _CLOSED
    name: Literal["factors"]
    factors: Annotated[list[PositiveFloat], Field(min_length=1)]


RotaryScaling = Annotated[Linear | Llama3 | Yarn | Factors, Field(discriminator="name")]


def wave_rates(width: int, base: float) -> list[float]:
    """Return the angles of position 1, base^(-2 i / D) for i = 0, 1, ...: D / 2 numbers, rounded up.

    Example:
        >>> wave_rates(4, 100.0)
        [1.0, 0.1]
    """
    return [base ** (-even / width) for even in range(0, width, 2)]


def scaled_rates(width: int, base: float, scaling: RotaryScaling) -> list[float]:
    """Return `wave_rates`, scaled.

    Args:
        width: D, the width of the rotated part of a head.
        base: the base of the angles.
        scaling: the method, with its numbers.

    Returns:
        D / 2 angles.

    Example:
        >>> scaled_rates(4, 100.0, {"name": "linear", "factor": 2.0})
        [0.5, 0.05]

    Source: transformers' `modeling_rope_utils.py`, which the published models use.
    """
    rates = wave_rates(width, base)
    match scaling:
        case {"name": "linear", "factor": factor}:
            return [rate / factor for rate in rates]
        case {"name": "factors", "factors": factors}:
            return [rate / factor for rate, factor in zip(rates, factors, strict=True)]
        case {"name": "llama3", "factor": factor}:
            low, high = scaling["low_frequency_factor"], scaling["high_frequency_factor"]
            turns = [rate * scaling["original_length"] / (2 * math.pi) for rate in rates]
            kept = [_clip((turn - low) / (high - low)) if high > low else float(turn > low) for turn in turns]
        case {"name": "yarn", "factor": factor}:
            kept = _yarn_kept(width, base, scaling)
    return [rate * keep + rate / factor * (1 - keep) for rate, keep in zip(rates, kept, strict=True)]


def _yarn_kept(width: int, base: float, scaling: Yarn) -> Sequence[float]:
    """Return the fraction of each angle that is kept, from 1 for short waves to 0 for long waves."""

    def component(turns: float) -> float:
        """Return the index of the wave that turns so often in the original length."""
        return width * math.log(scaling["original_length"] / (turns * 2 * math.pi)) / (2 * math.log(base))

    first, last = component(scaling["beta_fast"]), component(scaling["beta_slow"])
    if scaling["truncate"]:
        first, last = math.floor(first), math.ceil(last)
    first, last = max(first, 0), min(last, width - 1)
    last += 0.001 if first == last else 0.0
    return [1 - _clip((index - first) / (last - first)) for index in range((width + 1) // 2)]


def _clip(value: float) -> float:
    return min(max(value, 0.0), 1.0)
