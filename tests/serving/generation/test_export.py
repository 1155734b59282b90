"""The scheduler with an export: it generates the texts of the export's own signature, with or without speculation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.serving import authors
from tfattn.sampling_params import LOGITS_PARAMS, RANGES
from tfattn.serving.api.tensors import strings
from tfattn.serving.engine.saved_model import SavedModel
from tfattn.serving.generation.request import Request, TextLimits
from tfattn.serving.generation.scheduler import Scheduler

PROMPT = "To be, or not to be, or not to be, or not"
# Smaller ranges, in which the parameters change the text of a model with random weights.
LIMITS = {"temperature": (0.0, 2.0), "top_k": (-1, 40), "top_p": (0.05, 1.0), "repetition_penalty": (0.5, 2.0)}


@pytest.fixture(scope="module")
def model(authored):
    return SavedModel(authored / authors.NAME / "1")


@pytest.fixture(scope="module")
def scheduler(model):
    with Scheduler(model) as scheduler:
        yield scheduler


def generated(model, *, speculative, **params):
    with Scheduler(model, TextLimits(speculative=speculative)) as scheduler:
        return "".join(piece.text for piece in scheduler.generate(Request(prompts=(PROMPT,), **params)))


@pytest.mark.parametrize("params", [{"temperature": 0.0}, {"temperature": 0.7, "frequency_penalty": 0.5}])
def test_speculation_changes_no_text(model, params):
    asked = {"max_tokens": 60, "seed": 4, "ignore_eos": True, "repetition_penalty": 1.1, **params}
    without = generated(model, speculative=False, **asked)
    assert len(without) > 30 and generated(model, speculative=True, **asked) == without


@st.composite
def params(draw):
    """Draw sampling parameters."""
    drawn = {"seed": draw(st.integers(0, 2**31 - 1)), "max_tokens": draw(st.integers(1, 16))}
    for name in draw(st.lists(st.sampled_from(LOGITS_PARAMS), unique=True)):
        low, high = LIMITS.get(name, RANGES[name][1:])
        is_integer = RANGES[name].kind is int
        drawn[name] = draw(st.integers(low, high) if is_integer else st.floats(low, high, allow_subnormal=False))
    return drawn


@settings(max_examples=40, deadline=None)
@given(params=params(), data=st.data())
def test_the_scheduler_and_the_signature_generate_the_same_text(model, scheduler, params, data):
    stop = ()
    for _ in range(2):  # once without stop strings, and once with parts of this text
        outputs = model.run("serving_default", inputs(model, params, stop))
        expected = outputs["text"][0].decode(), outputs["finish_reason"][0].decode(), outputs["length"][0]
        chunks = list(scheduler.generate(Request(prompts=("To be",), stop=stop, **params)))
        text = "".join(chunk.text for chunk in chunks)
        assert (text, chunks[-1].finish_reason, chunks[-1].usage.written) == expected
        start = data.draw(st.integers(0, max(len(text) - 1, 0)))
        stop = tuple(part for part in ("never", text[start : start + data.draw(st.integers(1, 3))]) if part)


def inputs(model, params, stop):
    """Return the inputs of the signature for one row."""
    types = {name: tensor.numpy_dtype for name, tensor in model.signatures["serving_default"].inputs.items()}
    numbers = {name: np.array([value], types[name]) for name, value in params.items()}
    texts = {"text": strings([b"To be"]), "stop": np.array([[part.encode() for part in stop]], object).reshape(1, -1)}
    return model.signatures["serving_default"].completed({**texts, **numbers})
