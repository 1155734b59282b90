"""A language model in LiteRT: the texts of the SavedModel, with every feature of the scheduler."""

import json
import urllib.error
import urllib.request

import numpy as np
import pytest

from benchmarks.serving.running import running
from tests.serving import authors
from tfattn.decoding import counter_rng
from tfattn.serving.api.failure import Failure
from tfattn.serving.engine.litert_decoder import LiteRtDecoder
from tfattn.serving.engine.saved_model import SavedModel
from tfattn.serving.generation import sampler
from tfattn.serving.generation.request import Request, TextLimits
from tfattn.serving.generation.scheduler import Scheduler

PROMPTS = ("To be, or not to be, or not", "whether it is", "é ß 日本語 🎉 42")


@pytest.fixture(scope="module")
def engines(litert_version, authored):
    return LiteRtDecoder(litert_version), SavedModel(authored / authors.NAME / "1")


def texts(model, request, limits=None):
    with Scheduler(model, limits or TextLimits()) as scheduler:
        found = {}
        for chunk in scheduler.generate(request):
            found[chunk.index] = found.get(chunk.index, "") + chunk.text
        return found


def posted(url, body):
    request = urllib.request.Request(url, json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)


@pytest.mark.parametrize(
    "settings",
    [
        {"temperature": 0.0},
        {"temperature": 0.0, "repetition_penalty": 1.3, "frequency_penalty": 0.4, "logit_bias": {40: 3.0}},
        {"temperature": 1.0, "top_k": 20, "top_p": 0.8, "min_p": 0.02, "n": 3},
        {"temperature": 0.0, "guided": {"guided_choice": ["yes", "no", "maybe not"]}},
        {"temperature": 0.0, "stop": ("e",)},
    ],
)
def test_both_engines_generate_the_same_texts(engines, settings):
    request = Request(prompts=PROMPTS, seed=3, max_tokens=24, ignore_eos=True, **settings)
    assert texts(engines[0], request) == texts(engines[1], request)


def test_sequences_join_and_leave_and_share_prefixes(engines):
    limits = TextLimits(max_running=3, prefix_bytes=2**20)
    requests = [
        Request(prompts=(f"{PROMPTS[0]} {number}",), temperature=0.0, max_tokens=9 + number) for number in range(6)
    ]
    alone = [texts(engines[0], request)[0] for request in requests]
    with Scheduler(engines[0], limits) as scheduler:
        streams = [scheduler.generate(request) for request in requests]
        together = ["".join(chunk.text for chunk in stream) for stream in streams]
    assert together == alone


def test_prompts_larger_than_the_cache_are_refused(engines):
    with Scheduler(engines[0]) as scheduler:
        for length in (authors.CONTEXT, 5 * authors.CONTEXT):
            with pytest.raises(Failure, match=f"context is {authors.CONTEXT} tokens"):
                list(scheduler.generate(Request(prompts=((40,) * length,), temperature=0.0, max_tokens=2)))
        full = Request(prompts=((40,) * (authors.CONTEXT - 1),), temperature=0.0, max_tokens=9, ignore_eos=True)
        chunks = list(scheduler.generate(full))
    assert chunks[-1].finish_reason == "length" and chunks[-1].usage.written == 1


def test_log_probabilities_are_those_of_the_saved_model(engines):
    request = Request(prompts=PROMPTS[:1], temperature=0.0, max_tokens=6, logprobs=3)
    found = []
    for engine in engines:
        with Scheduler(engine) as scheduler:
            tokens = [token for chunk in scheduler.generate(request) for token in chunk.tokens]
        found.append([[token.log_probability, *(value for _, value in token.top_logprobs)] for token in tokens])
    np.testing.assert_allclose(*found, atol=1e-4)


def test_a_version_without_a_saved_model_is_served(engines, litert_version):
    request = Request(prompts=PROMPTS[:1], temperature=0.0, max_tokens=8, ignore_eos=True)
    with running(litert_version.parents[1]) as server:
        body = {"model": authors.NAME, "prompt": PROMPTS[0], "temperature": 0, "max_tokens": 8, "ignore_eos": True}
        found = posted(f"{server.rest}/v1/completions", body)
        assert found["choices"][0]["text"] == texts(engines[0], request)[0]
        with pytest.raises(urllib.error.HTTPError) as refused:
            posted(f"{server.rest}/v1/models/{authors.NAME}:predict", {"instances": ["a"]})
    assert 'name: \\"serving_default\\" not found' in refused.value.read().decode()


def test_fewer_threads_are_used_where_they_are_faster(litert_version, monkeypatch):
    seconds = {4: 3.0, 2: 1.0, 1: 0.95}  # a thread less must be worth it
    monkeypatch.setattr(LiteRtDecoder, "_step_seconds", lambda self: seconds[self._threads_of_graphs])
    opened = LiteRtDecoder._opened

    def noted(self, path, num_threads):
        self._threads_of_graphs = num_threads
        return opened(self, path, num_threads)

    monkeypatch.setattr(LiteRtDecoder, "_opened", noted)
    assert LiteRtDecoder(litert_version, num_threads=4, fewer_threads=True).num_threads == 2


def test_random_numbers_are_those_of_the_graph():
    for words in ((0, 0, 0, 0), (1, 2, 3, 4), (2**31 - 1, -5, 77, 2**32 - 1)):
        key, counter = (tuple(np.uint32(word & 0xFFFFFFFF) for word in pair) for pair in (words[:2], words[2:]))
        assert sampler.uniform(words[:2], words[2:]) == float(counter_rng.uniform(key, counter))
