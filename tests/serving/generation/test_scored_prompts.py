"""Prompts with their log-probabilities: those of the model, in chunks, next to other texts, with both engines."""

import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from tests.serving import authors
from tests.serving.generation.stand_in import StandIn
from tests.serving.generation.test_scheduler import begun, joined
from tfattn.serving.api.failure import Failure
from tfattn.serving.engine.litert_decoder import LiteRtDecoder
from tfattn.serving.engine.saved_model import SavedModel
from tfattn.serving.generation.request import Request, TextLimits
from tfattn.serving.generation.scheduler import Scheduler

TEXTS = ("To be, or not to be, that is the question " * 6, "é ß 日本語 🎉", "T")


def scored(scheduler, *prompts, **settings):
    """Return the prompt's chunk and the last chunk of each prompt."""
    asked = {"echo": True, "logprobs": 3, "max_tokens": 0, **settings}
    chunks = list(scheduler.generate(Request(prompts=prompts, **asked)))
    by_prompt = [[chunk for chunk in chunks if chunk.index == index] for index in range(len(prompts))]
    assert all(found[0].is_prompt and not any(chunk.is_prompt for chunk in found[1:]) for found in by_prompt)
    return [(found[0], found[-1]) for found in by_prompt]


@pytest.fixture(scope="module")
def expected():
    """The token ids of each text, and the log-probabilities (P - 1, V) of the tokens after each of them."""
    language, task = authors.build()
    found = []
    for row in [row.numpy() for row in language.split(tf.constant(TEXTS))]:
        x, _ = task.model.read(row[None], task.model.empty_cache(1))
        logits = ops.convert_to_numpy(task.model.next_logits(x))[0, :-1]
        found.append((row, logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))))
    assert len(found[0][0]) > 130, "several chunks"
    return found


@pytest.fixture(scope="module", params=["saved_model", "litert"])
def scheduler(request):
    if request.param == "litert":
        engine = LiteRtDecoder(request.getfixturevalue("litert_version"))
    else:
        engine = SavedModel(request.getfixturevalue("authored") / authors.NAME / "1")
    with Scheduler(engine) as scheduler:
        yield scheduler


@pytest.mark.parametrize("as_ids", [False, True])
def test_log_probabilities_of_prompts_are_those_of_the_keras_model(expected, scheduler, as_ids):
    prompts = [tuple(row.tolist()) for row, _ in expected] if as_ids else TEXTS
    for (row, values), text, (prompt, last) in zip(expected, TEXTS, scored(scheduler, *prompts), strict=True):
        assert [token.token_id for token in prompt.tokens] == row.tolist() and prompt.text == text
        assert (last.finish_reason, last.usage.written) == ("length", 0)
        assert prompt.tokens[0].log_probability is None and prompt.tokens[0].top_logprobs == ()
        found = [token.log_probability for token in prompt.tokens[1:]]
        np.testing.assert_allclose(found, values[np.arange(len(row) - 1), row[1:]], atol=2e-4)
        top = [[value for _, value in token.top_logprobs] for token in prompt.tokens[1:]]
        np.testing.assert_allclose(np.reshape(top, (-1, 3)), -np.sort(-values)[:, :3], atol=2e-4)


def test_a_token_that_is_the_most_likely_has_exactly_the_largest_log_probability(scheduler):
    request = Request(prompts=("To be",), temperature=0.0, max_tokens=20, logprobs=1, ignore_eos=True)
    generated = [token for chunk in scheduler.generate(request) for token in chunk.tokens]
    ids = tuple(scored(scheduler, "To be")[0][0].tokens)
    prompt = tuple(token.token_id for token in (*ids, *generated))
    again = scored(scheduler, prompt, logprobs=1)[0][0].tokens[len(ids) :]
    assert len(again) == 20
    for token, before in zip(again, generated, strict=True):
        # Clients compare them to find out whether the model would generate the prompt.
        assert token.log_probability == token.top_logprobs[0][1] == max(value for _, value in token.top_logprobs)
        assert token.log_probability == pytest.approx(before.log_probability, abs=1e-4)


def test_a_prompt_may_fill_the_context_if_nothing_is_generated(scheduler):
    full = (5,) * authors.CONTEXT
    ((prompt, _),) = scored(scheduler, full)
    assert len(prompt.tokens) == authors.CONTEXT
    with pytest.raises(Failure, match=f"{authors.CONTEXT} tokens, and the model's context is {authors.CONTEXT}"):
        scored(scheduler, full, max_tokens=1)
    with pytest.raises(Failure, match=f"{authors.CONTEXT + 1} tokens"):
        scored(scheduler, (*full, 5))


@pytest.fixture
def model(tmp_path):
    return StandIn(tmp_path, context=1000)


def values(token_ids):
    return [None, *(-float(1000 * position + token_id) for position, token_id in enumerate(token_ids[1:]))]


def test_prompts_are_scored_in_chunks_next_to_texts_that_do_not_change(model):
    alone = Request(prompts=("Once",), max_tokens=150, seed=1)
    long = Request(prompts=("x" * 500, "yz"), echo=True, logprobs=0, max_tokens=3, n=2, seed=2)
    with Scheduler(model) as scheduler:
        expected = joined(scheduler.generate(alone)), [joined(scheduler.generate(long), index) for index in range(4)]
        told, ends, _ = begun(scheduler, alone, long)
        assert all(end.wait(20) for end in ends)
    assert joined(told[0]) == expected[0] and [joined(told[1], index) for index in range(4)] == expected[1]
    for index in range(4):
        (prompt,) = [chunk for chunk in told[1] if chunk.index == index and chunk.is_prompt]
        text = long.prompts[index // 2]
        assert [token.log_probability for token in prompt.tokens] == values(text.encode()), "cached prefixes are read"
        assert expected[1][index].startswith(text) and len(expected[1][index]) > len(text)
    assert max(model.read) <= 512 and model.read.count(128) >= 2


def test_an_echo_without_log_probabilities_shares_the_prefix_cache(model):
    asked = Request(prompts=("Once upon a time",), echo=True, max_tokens=2, seed=1)
    with Scheduler(model, TextLimits(prefix_bytes=2**20)) as scheduler:
        for cached in (0, 15):
            chunks = list(scheduler.generate(asked))
            assert chunks[0].text == "Once upon a time" and chunks[0].tokens == ()
            assert chunks[-1].usage.cached == cached


def test_an_export_without_the_signature_echoes_without_log_probabilities(model):
    model.scores_prompts = False
    with Scheduler(model) as scheduler:
        with pytest.raises(Failure, match="echo: this export has no log-probabilities of prompts"):
            scored(scheduler, "Once")
        ((prompt, _),) = scored(scheduler, "Once", logprobs=None)
        assert prompt.text == "Once"


def test_the_end_token_is_scored_too(tmp_path):
    with Scheduler(StandIn(tmp_path, script=[])) as scheduler:
        ((prompt, last),) = scored(scheduler, "Once", max_tokens=1)
        assert len(prompt.tokens) == 4 and [(token.token_id, token.text) for token in last.tokens] == [(258, "")]
        assert (last.finish_reason, last.text, last.usage.written) == ("stop", "", 0)
        chunks = list(scheduler.generate(Request(prompts=("Once",), max_tokens=1, logprobs=3)))
        assert chunks[-1].tokens == ()
