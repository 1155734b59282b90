"""The settings of sampling: every door takes the same numbers."""

import math

import pytest
from pydantic import ValidationError

from tfattn.config.constructors import constructor
from tfattn.sampling_params import RANGES, SamplingParams
from tfattn.serving.generation.request import Request

NUMBERS = [0.0, -0.0, 1e-45, 1e-30, 0.5, 1, 2, 3.4e38, 1e39, 1e308, -1e39, math.nan, math.inf, -math.inf]


def is_taken(make) -> bool:
    try:
        make()
    except ValidationError:
        return False
    return True


@pytest.mark.parametrize("name", RANGES)
def test_a_request_and_a_pipeline_take_the_numbers_of_the_range(name):
    kind, low, high = RANGES[name]
    in_file = constructor("sections", "generation").arguments[name]
    for number in NUMBERS if kind is float else [-2, -1, 0, 2**31 - 1, 2**31]:
        expected = low <= number <= high
        assert is_taken(lambda number=number: Request(prompts=("a",), **{name: number})) == expected, number
        assert (not in_file.check(number)) == expected, number


def test_the_defaults_are_within_their_ranges():
    assert all(RANGES[name].low <= value <= RANGES[name].high for name, value in vars(SamplingParams()).items())
