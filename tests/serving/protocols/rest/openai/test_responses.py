"""The responses of OpenAI's API over HTTP: items, events, and fields that are refused."""

import json

import pytest
from grpc import StatusCode

from tests.serving.protocols.rest.openai.test_routes import refused
from tests.serving.protocols.rest.openai.test_tools import CALLS, TEXT, pieces
from tests.serving.stand_ins import Version
from tfattn.serving.api.failure import Failure, invalid
from tfattn.serving.generation.request import ChatMessage

RESPONSES = "/v1/responses"
TOOLS = [
    {"type": "function", "name": "get_weather", "parameters": {"type": "object", "properties": {}}, "strict": True},
    {"type": "function", "name": "get_time", "parameters": None, "strict": None},
]


@pytest.fixture
def author():
    version = Version("author", 1753869876, [])
    version.pieces = pieces("Hello there")
    return version


@pytest.fixture
def server(serve, author):
    return serve(author)


def asked(**more):
    return {"model": "author", "input": "Hi", **more}


def events(answer):
    """The documents of named events, numbered in order."""
    *written, rest = answer.body.decode().split("\n\n")
    found = []
    for number, event in enumerate(written):
        name, data = event.split("\n")
        found.append(json.loads(data.removeprefix("data: ")))
        assert name == f"event: {found[-1]['type']}" and found[-1]["sequence_number"] == number
    assert answer.status == 200 and not rest
    return found


def test_a_response_with_text(server, author):
    options = {"instructions": "Be brief.", "max_output_tokens": 9, "temperature": 0.5, "metadata": {"a": "b"}}
    answer = server.ask("POST", RESPONSES, asked(**options, top_p=0.9)).json
    assert (answer["object"], answer["status"], answer["error"]) == ("response", "completed", None)
    (item,) = answer["output"]
    assert (item["type"], item["role"], item["status"]) == ("message", "assistant", "completed")
    assert item["content"] == [{"type": "output_text", "text": "Hello there", "annotations": [], "logprobs": []}]
    assert {name: answer[name] for name in options} == options and answer["store"] is False
    assert answer["usage"]["input_tokens"] == 4 and answer["usage"]["total_tokens"] == 13
    (wanted,) = author.requests
    messages = ChatMessage(role="system", content="Be brief."), ChatMessage(role="user", content="Hi")
    assert wanted.prompts == (messages,)
    assert (wanted.max_tokens, wanted.temperature, wanted.top_p) == (9, 0.5, 0.9)


def test_a_response_that_is_cut_is_incomplete(server, author):
    author.pieces = pieces("Hello", "length")
    answer = server.ask("POST", RESPONSES, asked()).json
    assert (answer["status"], answer["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})
    assert answer["output"][0]["status"] == "incomplete"
    author.pieces = pieces("")
    assert server.ask("POST", RESPONSES, asked()).json["output"][0]["content"][0]["text"] == ""


def test_a_stream_has_the_events_of_each_part(server):
    found = events(server.ask("POST", RESPONSES, asked(stream=True)))
    names = [event["type"].removeprefix("response.") for event in found]
    start = ["created", "in_progress", "output_item.added", "content_part.added"]
    end = ["output_text.done", "content_part.done", "output_item.done", "completed"]
    assert names == [*start, "output_text.delta", "output_text.delta", *end]
    assert "".join(event["delta"] for event in found if event["type"].endswith("delta")) == "Hello there"
    assert found[0]["response"]["status"] == "in_progress" and found[0]["response"]["output"] == []
    last = found[-1]["response"]
    assert last["status"] == "completed" and last["output"] == [found[-2]["item"]] and last["usage"]


def test_calls_are_items(server, author):
    author.pieces = pieces(TEXT)
    text, *calls = server.ask("POST", RESPONSES, asked(tools=TOOLS)).json["output"]
    assert text["content"][0]["text"] == "Let me see.\n"
    assert [(call["name"], call["arguments"]) for call in calls] == list(CALLS)
    assert all(call["type"] == "function_call" and call["call_id"].startswith("call_") for call in calls)
    found = events(server.ask("POST", RESPONSES, asked(tools=TOOLS, stream=True)))
    deltas = [event for event in found if event["type"] == "response.function_call_arguments.delta"]
    items = [event["item"] for event in found if event["type"] == "response.output_item.done"]
    for index, (item, call) in enumerate(zip(items[1:], CALLS, strict=True), start=1):
        assert "".join(event["delta"] for event in deltas if event["output_index"] == index) == call.arguments
        assert (item["name"], item["arguments"], item["status"]) == (*call, "completed")
    guided = author.requests[0].guided["tool_calls"]
    assert guided["calls"][1]["path"] == "[1].parameters" and guided["trigger"] is not None


def test_items_of_earlier_answers_are_messages(server, author):
    author.pieces = pieces(TEXT)
    text, *calls = server.ask("POST", RESPONSES, asked(tools=TOOLS)).json["output"]
    results = [{"type": "function_call_output", "call_id": call["call_id"], "output": "4"} for call in calls]
    parts = [{"type": "input_text", "text": "Hi"}, {"type": "input_text", "text": " you"}]
    said = [{"role": "user", "content": parts}, text, *calls, *results]
    assert server.ask("POST", RESPONSES, asked(input=said)).status == 200
    assert author.requests[-1].prompts[0] == (
        ChatMessage(role="user", content="Hi you"),
        ChatMessage(role="assistant", content="Let me see.\n", tool_calls=CALLS),
        ChatMessage(role="tool", content="4"),
        ChatMessage(role="tool", content="4"),
    )


@pytest.mark.parametrize(
    "form, guided",
    [
        ({"type": "text"}, {}),
        ({"type": "json_object"}, {"response_format": {"type": "json_object"}}),
        ({"type": "json_schema", "name": "a", "schema": {"type": "null"}}, {"guided_json": {"type": "null"}}),
    ],
)
def test_the_form_of_the_text(server, author, form, guided):
    answer = server.ask("POST", RESPONSES, asked(text={"format": form})).json
    assert author.requests[0].guided == guided and answer["text"]["format"] == form


@pytest.mark.parametrize(
    "choice, trigger, names",
    [
        ("required", False, 2),
        ({"type": "function", "name": "get_time"}, False, 1),
        ({"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "get_time"}]}, True, 1),
    ],
)
def test_the_choice_of_functions(server, author, choice, trigger, names):
    answer = server.ask("POST", RESPONSES, asked(tools=TOOLS, tool_choice=choice)).json
    guided = author.requests[0].guided["tool_calls"]
    assert (guided["trigger"] is not None, len(guided["calls"])) == (trigger, names)
    assert answer["tool_choice"] == choice and [tool["name"] for tool in answer["tools"]] == ["get_weather", "get_time"]


CALL = {"type": "function_call", "call_id": "c", "name": "a", "arguments": "{}"}


@pytest.mark.parametrize(
    "fields, parameter, words",
    [
        ({"store": True}, "store", ["stores no responses"]),
        ({"previous_response_id": "resp_1"}, "previous_response_id", ["send all messages"]),
        ({"conversation": "conv_1"}, "conversation", ["send all messages"]),
        ({"background": True}, "background", ["use stream"]),
        ({"reasoning": {"effort": "high"}}, "reasoning", []),
        ({"truncation": "auto"}, "truncation", ["shorten"]),
        ({"include": ["message.output_text.logprobs"]}, "include", ["logprobs"]),
        ({"max_tokens": 5}, "max_tokens", ["max_output_tokens"]),
        ({"n": 2}, "n", ["/v1/chat/completions"]),
        ({"max_output_tokens": 0}, "max_output_tokens", ["greater than or equal to 1"]),
        ({"messages": []}, "messages", ["/v1/chat/completions"]),
        ({"input": []}, "input", ["at least 1"]),
        ({"input": [{"role": "robot", "content": "Hi"}]}, "input", ["'user'"]),
        ({"input": [{"type": "reasoning", "summary": []}]}, "input", ["'function_call_output'"]),
        ({"input": [{"role": "user", "content": [{"type": "input_image"}]}]}, "input", ["'input_text'"]),
        ({"input": [CALL]}, "input", ["results of 1 calls"]),
        ({"input": [CALL | {"arguments": "5"}]}, "input", ["object as JSON"]),
        ({"input": [{"type": "function_call_output", "call_id": "c", "output": ""}]}, "input", ["the id of a call"]),
        ({"text": {"format": {"type": "json_schema", "name": "a"}}}, "text", ["schema"]),
        ({"text": {"format": {"type": "grammar"}}}, "text", ["'json_schema'"]),
        ({"text": {"format": {"type": "json_object"}}, "guided_regex": "a"}, "text", ["guided_regex"]),
        ({"text": {"format": {"type": "json_object"}}, "tools": TOOLS}, "tools", ["received tools, text"]),
        ({"tools": [{"type": "web_search"}]}, "tools", ["'function'"]),
        ({"tools": TOOLS, "tool_choice": {"type": "function", "name": "b"}}, "tool_choice", ["get_weather, get_time"]),
        ({"stream": True, "stream_options": {"include_obfuscation": True}}, "stream_options", []),
    ],
)
def test_invalid_and_unsupported_fields_are_refused(server, author, fields, parameter, words):
    refused(server.ask("POST", RESPONSES, asked(**fields)), 400, parameter, *words)
    assert not author.requests


def test_failures_are_responses_or_events(server, author):
    author.pieces = [invalid("tool_calls[1].parameters#/not: the keyword is not supported")]
    refused(server.ask("POST", RESPONSES, asked(tools=TOOLS)), 400, "tools", "tools[1].parameters#/not")
    author.pieces = [invalid("guided_json#/not: the keyword is not supported")]
    schema = {"type": "json_schema", "name": "a", "schema": {"not": {}}}
    failed = server.ask("POST", RESPONSES, asked(text={"format": schema}))
    refused(failed, 400, "text", "text.format.schema#/not: the keyword")
    author.pieces = [*pieces("Hello")[:1], Failure(StatusCode.UNAVAILABLE, "The model's process died")]
    *_, last = events(server.ask("POST", RESPONSES, asked(stream=True)))
    assert last["type"] == "response.failed" and last["response"]["status"] == "failed"
    assert last["response"]["error"] == {"code": "server_error", "message": "The model's process died"}
