"""Tools in chats over HTTP: calls as OpenAI returns them, whole and streamed, and requests that are refused."""

import json

import pytest

from tests.serving.protocols.rest.openai.test_routes import CHAT, COMPLETIONS, chat, completion, events, refused
from tests.serving.stand_ins import Version
from tfattn.formats.tool_calls import ToolCall
from tfattn.serving.api.failure import invalid
from tfattn.serving.generation.output import OutputChunk, Token, Usage
from tfattn.serving.generation.request import ChatMessage

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Get the weather of a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        "strict": True,
    },
}
TIME = {"type": "function", "function": {"name": "get_time"}}
TOOLS = [WEATHER, TIME]
CALLS = (ToolCall("get_weather", '{"city": "Paris"}'), ToolCall("get_time", "{}"))
TEXT = "Let me see.\n" + "\n".join(map(str, CALLS))
HISTORY = [
    {"role": "user", "content": "How is Paris?"},
    {
        "role": "assistant",
        "content": None,
        "refusal": None,
        "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Paris"}'}}
        ],
    },
    {"role": "tool", "tool_call_id": "call_1", "content": "rain"},
]


def pieces(text, finish_reason="stop", size=7):
    """The pieces of a text."""
    parts = [OutputChunk(0, text[start : start + size]) for start in range(0, len(text), size)]
    return [*parts, OutputChunk(0, "", (), finish_reason, Usage(4, 1, 9))]


@pytest.fixture
def author():
    version = Version("author", 1753869876, [])
    version.pieces = pieces(TEXT)
    return version


@pytest.fixture
def server(serve, author):
    return serve(author)


def named(name):
    return {"type": "function", "function": {"name": name}}


def test_an_answer_with_calls(server, author):
    (choice,) = server.ask("POST", CHAT, chat(tools=TOOLS)).json["choices"]
    message = choice["message"]
    assert (choice["finish_reason"], message["content"]) == ("tool_calls", "Let me see.\n")
    ids = [call.pop("id") for call in message["tool_calls"]]
    assert len(set(ids)) == 2 and all(id.startswith("call_") for id in ids)
    assert message["tool_calls"] == [{"type": "function", "function": call._asdict()} for call in CALLS]
    author.pieces = pieces(str(CALLS[0]))
    message = server.ask("POST", CHAT, chat(tools=TOOLS)).json["choices"][0]["message"]
    assert message["content"] is None and len(message["tool_calls"]) == 1


def test_a_stream_has_the_name_of_a_call_first_and_then_its_arguments(server):
    *written, done = events(server.ask("POST", CHAT, chat(tools=TOOLS, stream=True)))
    choices = [json.loads(event)["choices"][0] for event in written]
    assert done == "[DONE]" and [choice["finish_reason"] for choice in choices[:-1]] == [None] * (len(choices) - 1)
    assert choices[-1]["finish_reason"] == "tool_calls" and choices[-1]["delta"] == {}
    deltas = [choice["delta"] for choice in choices]
    assert "".join(delta.get("content", "") for delta in deltas) == "Let me see.\n"
    calls = [call for delta in deltas for call in delta.get("tool_calls", ())]
    for index, expected in enumerate(CALLS):
        first, *rest = [call for call in calls if call["index"] == index]
        assert first["id"].startswith("call_") and first["type"] == "function"
        assert first["function"] == {"name": expected.name, "arguments": ""}
        assert "".join(call["function"]["arguments"] for call in rest) == expected.arguments
        assert all(call.keys() == {"index", "function"} for call in rest)


def test_text_is_text_if_no_tool_is_called(server, author):
    author.pieces = pieces("2 < 3, and <tool is no tag")
    (choice,) = server.ask("POST", CHAT, chat(tools=TOOLS)).json["choices"]
    expected = {"role": "assistant", "content": "2 < 3, and <tool is no tag", "refusal": None}
    assert (choice["message"], choice["finish_reason"]) == (expected, "stop")
    author.pieces = pieces(TEXT)
    (choice,) = server.ask("POST", CHAT, chat(tools=TOOLS, tool_choice="none")).json["choices"]
    assert choice["message"]["content"] == TEXT and choice["finish_reason"] == "stop"
    assert author.requests[-1].tools == () and author.requests[-1].guided == {}


def test_a_call_that_is_cut_is_not_finished(server, author):
    author.pieces = pieces(TEXT[:70], "length")
    (choice,) = server.ask("POST", CHAT, chat(tools=TOOLS)).json["choices"]
    (call,) = choice["message"]["tool_calls"]
    assert choice["finish_reason"] == "length" and CALLS[0].arguments.startswith(call["function"]["arguments"])


def test_log_probabilities_of_calls_are_returned(server, author):
    token = Token(5, "x", -0.5)
    author.pieces = [OutputChunk(0, TEXT, (token,)), OutputChunk(0, "", (token,), "stop", Usage(4, 0, 2))]
    asked = chat(tools=TOOLS, logprobs=True)
    assert len(server.ask("POST", CHAT, asked).json["choices"][0]["logprobs"]["content"]) == 2
    *written, _ = events(server.ask("POST", CHAT, asked | {"stream": True}))
    told = [json.loads(event)["choices"][0]["logprobs"] for event in written]
    assert sum(len(one["content"]) for one in told if one) == 2


@pytest.mark.parametrize(
    "choice, parallel, trigger, names, may_repeat",
    [
        (None, None, True, ["get_weather", "get_time"], True),
        ("auto", False, True, ["get_weather", "get_time"], False),
        ("required", True, False, ["get_weather", "get_time"], True),
        (named("get_time"), True, False, ["get_time"], False),
        (
            {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [named("get_weather")]}},
            None,
            True,
            ["get_weather"],
            True,
        ),
    ],
)
def test_the_choice_of_tools_constrains_the_answer(server, author, choice, parallel, trigger, names, may_repeat):
    assert server.ask("POST", CHAT, chat(tools=TOOLS, tool_choice=choice, parallel_tool_calls=parallel)).status == 200
    (wanted,) = author.requests
    guided = wanted.guided["tool_calls"]
    assert (guided["trigger"] is not None, guided["parallel"]) == (trigger, may_repeat)
    assert [json.loads(call["begin"].split("\n")[1] + "0}")["name"] for call in guided["calls"]] == names
    assert [tool["function"]["name"] for tool in wanted.tools] == names
    assert guided["calls"][-1]["schema"]["type"] == "object"


def test_calls_and_results_are_messages(server, author):
    assert server.ask("POST", CHAT, chat(messages=HISTORY)).status == 200
    assert author.requests[0].prompts[0] == (
        ChatMessage(role="user", content="How is Paris?"),
        ChatMessage(role="assistant", content="", tool_calls=CALLS[:1]),
        ChatMessage(role="tool", content="rain"),
    )


CALL = HISTORY[1]["tool_calls"][0]


@pytest.mark.parametrize(
    "fields, parameter, words",
    [
        ({"tools": [{"type": "function"}]}, "tools", ["tools[0].function: ", "required"]),
        ({"tools": [{"type": "web_search", "function": {"name": "a"}}]}, "tools", ["'function'"]),
        ({"tools": [{"type": "function", "function": {"name": "a b"}}]}, "tools", ["pattern"]),
        (
            {"tools": [{"type": "function", "function": {"name": "a", "params": {}}}]},
            "tools",
            ["tools[0].function.params: "],
        ),
        (
            {"tools": [{"type": "function", "function": {"name": "a", "parameters": 5}}]},
            "tools",
            ["tools[0].function.parameters: ", "object"],
        ),
        (
            {"tools": [TIME, {"type": "function", "function": {"name": "a", "parameters": {"type": "string"}}}]},
            "tools",
            ["[1].function.parameters", '"type": "object"'],
        ),
        ({"tools": [TIME, TIME]}, "tools", ["two functions", "get_time"]),
        ({"tools": [TIME] * 129}, "tools", ["at most 128"]),
        ({"tool_choice": "required"}, "tool_choice", ["requires tools"]),
        ({"tools": TOOLS, "tool_choice": named("get_news")}, "tool_choice", ["get_weather, get_time"]),
        ({"tools": TOOLS, "tool_choice": "sometimes"}, "tool_choice", []),
        ({"tools": TOOLS, "guided_regex": "a"}, "tools", ["only one field", "guided_regex"]),
        ({"messages": [*HISTORY[:2], {"role": "user", "content": "?"}]}, "messages", ["2:", "results of 1 calls"]),
        ({"messages": HISTORY[:2]}, "messages", ["2:", "results of 1 calls"]),
        ({"messages": [HISTORY[0], HISTORY[2]]}, "messages", ["1: tool_call_id", "the id of a call"]),
        ({"messages": [*HISTORY, HISTORY[2]]}, "messages", ["3: tool_call_id"]),
        ({"messages": [{"role": "tool", "content": "rain"}]}, "messages", ["tool_call_id"]),
        ({"messages": [{"role": "user", "content": "Hi", "tool_calls": [CALL]}]}, "messages", ["role assistant"]),
        ({"messages": [{"role": "assistant", "tool_calls": [CALL, CALL]}]}, "messages", ["same id"]),
        ({"messages": [{"role": "assistant"}]}, "messages", ["content"]),
        (
            {"messages": [{"role": "assistant", "content": "", "function_call": {}}]},
            "messages",
            ["messages[0].function_call: "],
        ),
        (
            {"messages": [{"role": "assistant", "tool_calls": [CALL | {"function": {"name": "a", "arguments": "["}}]}]},
            "messages",
            ["object as JSON"],
        ),
        ({"functions": [{"name": "a"}]}, "functions", ["use tools"]),
        ({"echo": True}, "echo", [COMPLETIONS]),
    ],
)
def test_invalid_tools_and_messages_are_refused(server, author, fields, parameter, words):
    refused(server.ask("POST", CHAT, chat(**fields)), 400, parameter, *words)
    assert not author.requests


def test_completions_have_no_tools(server):
    refused(server.ask("POST", COMPLETIONS, completion(tools=TOOLS)), 400, "tools", CHAT)
    assert server.ask("POST", COMPLETIONS, completion(tools=[], parallel_tool_calls=True)).status == 200


def test_schemas_that_the_model_refuses_are_named_by_their_path(server, author):
    author.pieces = [invalid("tool_calls[0].function.parameters#/not: the keyword is not supported")]
    refused(server.ask("POST", CHAT, chat(tools=TOOLS)), 400, "tools", "tools[0].function.parameters#/not: the keyword")
