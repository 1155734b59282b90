"""The description of a language model, as earlier and present exports write it."""

import numpy as np
import pytest

from tests.serving.generation import stand_in
from tests.serving.generation.stand_in import StandIn
from tfattn.serving.generation.description import Description
from tfattn.serving.generation.request import Request
from tfattn.serving.generation.request_processor import PromptTokenizer
from tfattn.serving.generation.scheduler import Scheduler


@pytest.mark.parametrize(
    ("defaults", "expected"),
    [
        ({"max_new_tokens": 7, "temperature": 0.5, "seed": 0}, {"temperature": 0.5, "max_tokens": 7, "seed": None}),
        ({"max_tokens": 7, "stop": ["q"], "seed": 3}, {"stop": ["q"], "seed": 3, "max_tokens": 7}),
        ({"max_tokens": None}, {"max_tokens": None}),
    ],
)
def test_defaults_apply_to_requests_without_them(tmp_path, monkeypatch, defaults, expected):
    monkeypatch.setattr(stand_in, "DEFAULTS", defaults)
    with Scheduler(StandIn(tmp_path, script=[97] * 30 + [113] * 30)) as scheduler:
        assert scheduler.description.defaults == expected
        *_, last = scheduler.generate(Request(prompts=("Once",)))
    assert (last.usage.written, last.finish_reason) == ((7, "length") if expected["max_tokens"] else (60, "stop"))


@pytest.mark.parametrize(
    ("more", "prompt", "expected"),
    [
        ({}, "ab", [97, 98]),
        ({}, "", [257]),
        ({"start_ids": [256]}, "ab", [256, 97, 98]),
        ({"start_ids": [256]}, "", [256]),
        ({"start_ids": [256], "prefix": " "}, "ab", [256, 32, 97, 98]),
        ({"prefix": " ", "prefix_unless": [" "]}, " ab", [32, 97, 98]),
        ({"prefix": " ", "prefix_unless": [" "]}, "ab", [32, 97, 98]),
    ],
)
def test_prompts_start_as_documents(tmp_path, more, prompt, expected):
    model = StandIn(tmp_path, **more)
    found = PromptTokenizer(model, Description.read(tmp_path)).token_ids(prompt)
    assert found.dtype == np.int32 and found.tolist() == expected
