"""LiteRT files compute inputs of any size, in any number of threads."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tfattn.errors import ServingError
from tfattn.litert.model import LiteRtModel


@pytest.fixture(scope="module")
def model(content, saved) -> LiteRtModel:
    return LiteRtModel(saved(content))


def test_signatures(model):
    assert model.signatures["serving_default"] == (("mask", "token_ids"), ("scores", "vectors"))
    assert model.signatures["scores"][1] == ("scores",)


def test_threads_and_sizes(model, network):
    def check(seed):
        rng = np.random.default_rng(seed)
        ids = rng.integers(0, 60, rng.integers(1, 9, 2)).astype(np.int32)
        inputs = {"token_ids": ids, "mask": np.ones_like(ids)}
        expected = network(**inputs)["vectors"]
        np.testing.assert_allclose(model.run("serving_default", inputs)["vectors"], expected, atol=1e-5)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(check, range(40)))


def test_idle_interpreters_are_limited(content, saved, inputs, monkeypatch):
    model, calls = LiteRtModel(saved(content)), os.cpu_count() + 3
    together, make = threading.Barrier(calls), model._interpreter

    def interpreter():
        together.wait(timeout=60)  # all calls, but the call with the first interpreter, compute at the same time
        return make()

    monkeypatch.setattr(model, "_interpreter", interpreter)
    first = model._idle.pop()
    with ThreadPoolExecutor(calls) as pool:
        list(pool.map(lambda _: model.run("scores", inputs), range(calls)))
    assert len(model._idle) == os.cpu_count() and first not in model._idle
    assert model.run("scores", inputs)["scores"].shape == (3, 5, 600)


def test_types_are_converted(model, inputs):
    wide = {"token_ids": inputs["token_ids"].astype(np.int64), "mask": inputs["mask"].astype(bool)}
    received, expected = (model.run("scores", given)["scores"] for given in (wide, inputs))
    np.testing.assert_array_equal(received, expected)


def test_wrong_requests(model, inputs):
    with pytest.raises(ServingError, match="no such signature: expected one of scores, serving_default, received x"):
        model.run("x", inputs)
    with pytest.raises(ServingError, match="not those of `scores`: expected mask, token_ids, received mask"):
        model.run("scores", {"mask": inputs["mask"]})
    with pytest.raises(ServingError, match=r"`token_ids` has another number .* expected 2, received shape \(3,\)"):
        model.run("scores", {**inputs, "token_ids": np.zeros(3)})
    with pytest.raises(ServingError, match=r"cannot compute `scores`.*received mask \(3, 5\), token_ids \(3, 4\)"):
        model.run("scores", {**inputs, "token_ids": inputs["token_ids"][:, :4]})
    assert model.run("scores", inputs)["scores"].shape == (3, 5, 600)  # other requests are still answered
