"""The scheduler with an export: speculation changes no text."""

import pytest

from tests.serving import authors
from tfattn.serving.engine.saved_model import SavedModel
from tfattn.serving.generation.request import Request, TextLimits
from tfattn.serving.generation.scheduler import Scheduler

PROMPT = "To be, or not to be, or not to be, or not"


@pytest.fixture(scope="module")
def model(authored):
    return SavedModel(authored / authors.NAME / "1")


def generated(model, *, speculative, **settings):
    with Scheduler(model, TextLimits(speculative=speculative)) as scheduler:
        return "".join(piece.text for piece in scheduler.generate(Request(prompts=(PROMPT,), **settings)))


@pytest.mark.parametrize("settings", [{"temperature": 0.0}, {"temperature": 0.7, "frequency_penalty": 0.5}])
def test_speculation_changes_no_text(model, settings):
    asked = {"max_new_tokens": 60, "seed": 4, "ignore_eos": True, "repetition_penalty": 1.1, **settings}
    without = generated(model, speculative=False, **asked)
    assert len(without) > 30 and generated(model, speculative=True, **asked) == without
