"""Tool calls of a model with random weights: every answer that ends is valid, and other texts do not change."""

import json

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.guidance.schemas import SCHEMAS
from tests.serving.generation.stand_in import StandIn
from tests.serving.generation.test_scheduler import begun, joined
from tfattn.formats.tool_calls import TAG, ToolCallParser, call_texts
from tfattn.serving.generation.request import ChatMessage, Request
from tfattn.serving.generation.scheduler import Scheduler

SAID = ((ChatMessage(role="user", content="How is Paris?"),),)
WEATHER = {"type": "object", "properties": {"city": {"type": "string", "maxLength": 8}}, "required": ["city"]}
TOOL = {"type": "function", "function": {"name": "f0", "description": "Weather.", "parameters": WEATHER}}


def field(*schemas, trigger=None, parallel=False):
    texts = [call_texts(f"f{number}") for number in range(len(schemas))]
    calls = [
        {"begin": begin, "schema": schema, "end": end, "path": ""}
        for (begin, end), schema in zip(texts, schemas, strict=True)
    ]
    return {"tool_calls": {"calls": calls, "trigger": trigger, "parallel": parallel}}


def checked(chunks, schemas):
    """Return the content and the number of valid calls of an answer."""
    parser, text = ToolCallParser(), joined(chunks)
    deltas = [*parser.add(text), *parser.end()]
    arguments = [""] * parser.num_calls
    names = [delta.name for delta in deltas if delta.name]
    for delta in deltas:
        if delta.index is not None:
            arguments[delta.index] += delta.arguments
    whole = list(zip(names, arguments, strict=True))[: -1 if parser.is_cut else None]
    for name, found in whole:
        jsonschema.validate(json.loads(found), schemas[int(name[1:])])
    assert parser.is_cut <= (chunks[-1].finish_reason == "length"), "an answer that ends has whole calls"
    return "".join(delta.content for delta in deltas), len(whole)


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory):
    with Scheduler(StandIn(tmp_path_factory.mktemp("model"), context=2000)) as scheduler:
        yield scheduler


@settings(deadline=None, max_examples=25)
@given(schemas=st.lists(SCHEMAS, min_size=1, max_size=2), seed=st.integers(0, 99), parallel=st.booleans())
def test_answers_of_random_weights_are_valid_calls(scheduler, schemas, seed, parallel):
    schemas = [schema for schema, _ in schemas]
    request = Request(prompts=SAID, guided=field(*schemas, parallel=parallel), seed=seed, max_tokens=400)
    chunks = list(scheduler.generate(request))
    content, number = checked(chunks, schemas)
    assert content == "" and (number >= 1 or chunks[-1].finish_reason == "length")
    assert parallel or number <= 1


def test_streams_next_to_calls_do_not_change(tmp_path):
    free = [Request(prompts=(f"to be {number}",), seed=number, max_tokens=150) for number in range(3)]
    call = Request(prompts=SAID, tools=(TOOL,), guided=field(WEATHER, parallel=True), seed=4, max_tokens=150)
    auto = Request(prompts=SAID, tools=(TOOL,), guided=field(WEATHER, trigger=TAG), seed=5, max_tokens=150)
    asked = [free[0], call, free[1], auto, call, free[2]]
    with Scheduler(StandIn(tmp_path, context=2000)) as scheduler:
        alone = [joined(scheduler.generate(request)) for request in asked]
        told, ends, _ = begun(scheduler, *asked)
        assert all(end.wait(30) for end in ends)
    assert [joined(pieces) for pieces in told] == alone


def test_text_without_a_call_is_the_same_as_without_tools(scheduler):
    for seed in range(5):
        asked = {"prompts": SAID, "seed": seed, "max_tokens": 100, "stop": ("a",), "logprobs": 1}
        answers = [
            list(scheduler.generate(Request(**asked, guided=guided))) for guided in ({}, field(WEATHER, trigger=TAG))
        ]
        plain, free = (
            (joined(chunks), [token for chunk in chunks for token in chunk.tokens], chunks[-1].finish_reason)
            for chunks in answers
        )
        assert free == plain and plain[1]


def scripted(tmp_path, text, **settings):
    """The chunks of an answer that starts with a text."""
    model = StandIn(tmp_path, context=2000, script=list(text.encode()))
    with Scheduler(model) as scheduler:
        return list(scheduler.generate(Request(prompts=SAID, max_tokens=300, seed=1, **settings)))


def test_a_call_follows_the_tag(tmp_path):
    guided = field(WEATHER, WEATHER, trigger=TAG)
    chunks = scripted(tmp_path, f"Well, <tool or {TAG}!", guided=guided)
    assert checked(chunks, [WEATHER] * 2) == ("Well, <tool or ", 1) and chunks[-1].finish_reason == "stop"


@pytest.mark.parametrize("trigger", [None, TAG])
def test_stop_strings_and_stop_tokens_end_text_and_no_calls(tmp_path, trigger):
    guided = field(WEATHER, trigger=trigger)
    stop = {"stop": ("name", "}"), "stop_token_ids": (ord("y"),)}
    chunks = scripted(tmp_path, f"Oh {TAG}" if trigger else "", guided=guided, **stop)
    assert checked(chunks, [WEATHER])[1] == 1 and chunks[-1].finish_reason == "stop"
    chunks = scripted(tmp_path, f"By the name of {TAG}", guided=field(WEATHER, trigger=TAG), **stop)
    assert joined(chunks) == "B" and chunks[-1].finish_reason == "stop"


def test_tools_are_a_part_of_the_prompt(scheduler):
    lengths = [
        list(scheduler.generate(Request(prompts=SAID, tools=tools, max_tokens=1)))[-1].usage.prompt
        for tools in ((), (TOOL,))
    ]
    assert lengths[1] - lengths[0] > len(json.dumps(TOOL))
