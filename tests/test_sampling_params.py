"""Sampling parameters: every interface has the same names and takes the same values."""

import math

import pytest
from pydantic import ValidationError
from typer.main import get_command

from tfattn.cli import generation
from tfattn.config.constructors import constructor
from tfattn.export.request_settings import Settings
from tfattn.sampling_params import ANNOTATIONS, DEFAULTS, LOGITS_PARAMS, RANGES, SamplingParams
from tfattn.serving.generation.request import Request
from tfattn.serving.protocols.rest.openai.chat import ChatFields
from tfattn.serving.protocols.rest.openai.completion import CompletionFields

NUMBERS = [0.0, -0.0, 1e-45, 1e-30, 0.5, 1, 2, 3.4e38, 1e39, 1e308, -1e39, math.nan, math.inf, -math.inf]
INTEGERS = [-(2**63), -2, -1, 0, 1, 16, 17, 20, 21, 2**31 - 1, 2**31, 2**64 - 1, 2**64]


def is_taken(make) -> bool:
    try:
        make()
    except ValidationError:
        return False
    return True


@pytest.mark.parametrize("name", RANGES)
def test_requests_and_pipelines_accept_the_same_ranges(name):
    kind, low, high = RANGES[name]
    in_file = constructor("sections", "generation").arguments[name]
    for number in NUMBERS if kind is float else INTEGERS:
        expected = low <= number <= high
        assert is_taken(lambda number=number: Request(prompts=("a",), **{name: number})) == expected, number
        assert not in_file.in_file or (not in_file.check(number)) == expected, number


@pytest.mark.parametrize("stop", [("",), ("x" * 129,), ("x",) * 17])
def test_a_request_and_a_pipeline_refuse_the_same_stop_strings(stop):
    assert not is_taken(lambda: Request(prompts=("a",), stop=stop))
    assert constructor("sections", "generation").arguments["stop"].check(list(stop))


def test_every_interface_has_the_same_names():
    names = set(ANNOTATIONS)
    commands = get_command(generation.app).commands
    assert names <= {option.name for option in commands["generate"].params}
    assert names <= set(CompletionFields.model_fields) & set(ChatFields.model_fields) & set(Request.model_fields)
    # A request alone decides how many texts and log probabilities it receives.
    own = names - {"n", "logprobs"}
    keys = constructor("sections", "generation").arguments
    assert {name for name in names if keys[name].in_file} == own == Settings(SamplingParams()).defaults.keys()


def test_the_defaults_are_within_their_ranges():
    numbers = {name: DEFAULTS[name] for name in RANGES if DEFAULTS[name] is not None}
    assert all(RANGES[name].low <= value <= RANGES[name].high for name, value in numbers.items())
    assert SamplingParams().of_logits == {name: DEFAULTS[name] for name in LOGITS_PARAMS}
