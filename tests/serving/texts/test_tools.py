"""Tools, responses and scored prompts from a real server, asked by OpenAI's own client."""

import concurrent.futures
import json

import jsonschema
import openai
import pytest

from tests.serving import authors

MODEL = authors.NAME
SAID = [{"role": "user", "content": "To be?"}]
CITY = {"type": "object", "properties": {"city": {"type": "string", "maxLength": 9}}, "required": ["city"]}
CITY["additionalProperties"] = False
RANGE = {
    "type": "object",
    "properties": {"low": {"type": "integer", "minimum": 0, "maximum": 99}, "unit": {"enum": ["C", "F"]}},
    "required": ["low", "unit"],
    "additionalProperties": False,
}
SCHEMAS = {"get_weather": CITY, "set_range": RANGE}
TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": schema, "strict": True}}
    for name, schema in SCHEMAS.items()
]
FUNCTIONS = [
    {"type": "function", "name": name, "parameters": schema, "strict": True} for name, schema in SCHEMAS.items()
]


def asked(client, **settings):
    return client.chat.completions.create(model=MODEL, messages=SAID, **{"tools": TOOLS, "seed": 1} | settings)


def streamed(stream):
    """The content, calls and finish reason of a stream."""
    content, calls, reason = "", [], None
    for chunk in stream:
        (choice,) = chunk.choices
        reason = choice.finish_reason or reason
        content += choice.delta.content or ""
        for call in choice.delta.tool_calls or ():
            calls += [[call.function.name, ""]] if call.id else []
            calls[call.index][1] += call.function.arguments
    return content, [tuple(call) for call in calls], reason


def whole(answer):
    (choice,) = answer.choices
    calls = [(call.function.name, call.function.arguments) for call in choice.message.tool_calls or ()]
    return choice.message.content or "", calls, choice.finish_reason


@pytest.mark.parametrize("seed", range(4))
def test_required_calls_are_valid_whole_and_streamed(client, seed):
    settings = {"tool_choice": "required", "parallel_tool_calls": False, "seed": seed}
    answer = whole(asked(client, **settings))
    content, ((name, arguments),), reason = answer
    jsonschema.validate(json.loads(arguments), SCHEMAS[name])
    assert (content, reason) == ("", "tool_calls")
    assert streamed(asked(client, **settings, stream=True)) == answer


def test_a_named_function_is_called_and_its_result_is_read(client):
    named = {"type": "function", "function": {"name": "set_range"}}
    first = asked(client, tool_choice=named).choices[0].message
    (call,) = first.tool_calls
    jsonschema.validate(json.loads(call.function.arguments), RANGE)
    messages = [*SAID, first, {"role": "tool", "tool_call_id": call.id, "content": "done"}]
    options = {"model": MODEL, "tools": TOOLS, "seed": 1, "max_completion_tokens": 5}
    answer = client.chat.completions.create(messages=messages, **options)
    assert answer.usage.prompt_tokens > asked(client, max_completion_tokens=1).usage.prompt_tokens
    with pytest.raises(openai.BadRequestError, match="tool_call_id: expected the id of a call") as refused:
        client.chat.completions.create(messages=[*SAID, messages[-1]], **options)
    assert refused.value.param == "messages"


def test_the_helper_of_the_client_accumulates_a_stream(client):
    with client.chat.completions.stream(
        model=MODEL, messages=SAID, tools=TOOLS, tool_choice="required", parallel_tool_calls=False, seed=3
    ) as stream:
        names = {event.type for event in stream}
        (call,) = stream.get_final_completion().choices[0].message.tool_calls
    assert {"tool_calls.function.arguments.delta", "tool_calls.function.arguments.done"} <= names
    jsonschema.validate(call.function.parsed_arguments, SCHEMAS[call.function.name])


def test_text_is_unchanged_where_tools_may_be_called(client):
    settings = {"seed": 5, "max_completion_tokens": 40}
    content, calls, reason = whole(asked(client, **settings))
    assert content and not calls and reason in ("stop", "length")
    assert streamed(asked(client, **settings, stream=True)) == (content, [], reason)


def test_other_streams_do_not_change_while_tools_are_called(client):
    def free(number):
        stream = client.completions.create(
            model=MODEL, prompt=f"to be {number}", seed=number, max_tokens=80, stream=True
        )
        return "".join(chunk.choices[0].text for chunk in stream)

    alone = [free(number) for number in range(3)]
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        streams = [pool.submit(free, number) for number in range(3)]
        calls = [pool.submit(asked, client, tool_choice="required", seed=seed, max_tokens=80) for seed in range(3)]
        assert [stream.result() for stream in streams] == alone
        assert all(call.result().choices[0].message.tool_calls for call in calls)


@pytest.mark.parametrize(
    "settings, parameter",
    [
        ({"tools": [{"type": "function", "function": {"name": "a", "parameters": {"type": "planet"}}}]}, "tools"),
        (
            {
                "tools": [
                    {
                        "type": "function",
                        "function": {"name": "a", "parameters": {"type": "object", "properties": {"b": {"not": {}}}}},
                    }
                ]
            },
            "tools",
        ),
        ({"tool_choice": {"type": "function", "function": {"name": "b"}}}, "tool_choice"),
        ({"tools": TOOLS * 65}, "tools"),
        ({"extra_body": {"echo": True}}, "echo"),
    ],
)
def test_invalid_tools_are_refused(client, settings, parameter):
    with pytest.raises(openai.BadRequestError) as refused:
        asked(client, **settings)
    assert refused.value.param == parameter


def test_responses_whole_and_streamed(client):
    settings = {"model": MODEL, "input": "To be?", "instructions": "Be brief.", "max_output_tokens": 30}
    settings |= {"temperature": 0.7, "top_p": 0.9, "extra_body": {"seed": 3}}
    answer = client.responses.create(**settings)
    assert answer.output_text and answer.usage.output_tokens <= 30
    assert answer.status == ("incomplete" if answer.incomplete_details else "completed")
    events = list(client.responses.create(**settings, stream=True))
    deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
    assert "".join(deltas) == answer.output_text == events[-1].response.output_text
    assert events[0].type == "response.created" and events[-1].type == f"response.{answer.status}"
    with pytest.raises(openai.BadRequestError, match="send all messages") as refused:
        client.responses.create(**settings, previous_response_id=answer.id)
    assert refused.value.param == "previous_response_id"


def test_responses_call_functions_and_read_their_results(client):
    settings = {"model": MODEL, "tools": FUNCTIONS, "tool_choice": "required", "parallel_tool_calls": False}
    settings |= {"extra_body": {"seed": 2}}
    answer = client.responses.create(input=SAID, **settings)
    (call,) = answer.output
    jsonschema.validate(json.loads(call.arguments), SCHEMAS[call.name])
    with client.responses.stream(input=SAID, **settings) as stream:
        done = [event for event in stream if event.type == "response.function_call_arguments.done"]
        assert [event.arguments for event in done] == [call.arguments]
        assert stream.get_final_response().output[0].arguments == call.arguments
    result = {"type": "function_call_output", "call_id": call.call_id, "output": "done"}
    settings |= {"tool_choice": "auto", "max_output_tokens": 5}
    assert client.responses.create(input=[*SAID, *answer.output, result], **settings).output


def test_responses_match_a_schema(client):
    form = {"type": "json_schema", "name": "range", "schema": RANGE, "strict": True}
    answer = client.responses.create(model=MODEL, input="To be?", text={"format": form})
    jsonschema.validate(json.loads(answer.output_text), RANGE)


def scored(client, prompts, **settings):
    """Ask as lm-evaluation-harness does (lm_eval/models/openai_completions.py), and read the answer as it does."""
    options = {"temperature": 0, "max_tokens": 1, "logprobs": 1, "seed": 1234, "echo": True} | settings
    answer = client.completions.create(model=MODEL, prompt=prompts, **options)
    found = []
    for choice in sorted(answer.choices, key=lambda choice: choice.index):
        values = choice.logprobs.token_logprobs
        tops = choice.logprobs.top_logprobs
        end = -1 if options["max_tokens"] else None
        assert values[0] is None and tops[0] is None
        is_greedy = all(value == max(top.values()) for value, top in zip(values[1:end], tops[1:end], strict=True))
        found.append((sum(values[1:end]), is_greedy, choice))
    return found


def test_prompts_are_scored_as_an_evaluation_harness_asks(client):
    texts = ["To be, or not to be", "whether it is nobler", "question question"]
    found = scored(client, texts)
    none = scored(client, texts, max_tokens=0)
    for text, (score, is_greedy, choice), (same, same_greedy, alone) in zip(texts, found, none, strict=True):
        assert choice.text.startswith(text) and choice.logprobs.text_offset[:2] == [0, len(alone.logprobs.tokens[0])]
        assert alone.text == text == "".join(alone.logprobs.tokens)
        assert len(choice.logprobs.tokens) == len(alone.logprobs.tokens) + 1, (
            "also where the generated token is the end"
        )
        assert same == pytest.approx(score, abs=1e-3) and same_greedy == is_greedy
        assert scored(client, text)[0][0] == pytest.approx(score, abs=1e-3)
    stream = client.completions.create(model=MODEL, prompt="To be", echo=True, logprobs=0, max_tokens=0, stream=True)
    assert "".join(chunk.choices[0].text for chunk in stream) == "To be"


def test_prompts_of_token_ids_are_scored(client):
    ids = [[40, 41, 42, 65], [70, 71]]
    for row, (score, _, choice) in zip(ids, scored(client, ids, max_tokens=0), strict=True):
        assert len(choice.logprobs.tokens) == len(row) and score < 0
    with pytest.raises(openai.BadRequestError) as refused:
        client.completions.create(model=MODEL, prompt="To be", max_tokens=0)
    assert refused.value.param == "max_tokens"
