"""Tool calls as text: what is formatted is parsed again, for any division into pieces."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfattn.formats.chat_template import ChatTemplate, plain_messages
from tfattn.formats.chat_template import ToolMessage as Message
from tfattn.formats.tool_calls import TAG, ToolCall, ToolCallParser, describe_tools

VALUES = st.recursive(
    st.one_of(st.integers(), st.booleans(), st.text(max_size=5), st.just('}\n</tool_call>"'), st.just(TAG)),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(st.text(max_size=3), inner, max_size=2)),
    max_leaves=4,
)
CALLS = st.lists(
    st.tuples(st.from_regex(r"\A[a-zA-Z0-9_-]{1,6}\Z"), st.dictionaries(st.text(max_size=3), VALUES, max_size=3)),
    max_size=3,
)
TEXTS = st.text('<tool_cal>\n {"é', max_size=20).filter(lambda text: TAG not in text)


def parsed(text, cuts):
    """Parse a text in pieces; return the content, the calls and the parser."""
    parser, deltas, start = ToolCallParser(), [], 0
    for end in [*sorted(cuts), len(text)]:
        deltas += parser.add(text[start:end])
        start = max(start, end)
    deltas += parser.end()
    for delta in deltas:  # content comes first, and each delta has one part
        assert sum(map(bool, (delta.content, delta.name, delta.arguments))) == 1
        assert (delta.index is None) == bool(delta.content)
    names = [delta.name for delta in deltas if delta.name]
    arguments = ["".join(delta.arguments for delta in deltas if delta.index == index) for index in range(len(names))]
    return "".join(delta.content for delta in deltas), list(map(ToolCall, names, arguments)), parser


@given(TEXTS, CALLS, st.sets(st.integers(0, 300), max_size=8), st.booleans())
def test_content_and_calls_are_parsed_in_any_pieces(content, calls, cuts, is_ascii):
    calls = [ToolCall(name, json.dumps(arguments, ensure_ascii=is_ascii)) for name, arguments in calls]
    text = content + "\n".join(map(str, calls))
    found = parsed(text, {cut for cut in cuts if cut <= len(text)})
    assert found[:2] == (content, calls) and not found[2].is_cut


@given(CALLS.filter(bool), st.data())
def test_a_text_that_is_cut_has_a_prefix_of_its_arguments(calls, data):
    calls = [ToolCall(name, json.dumps(arguments)) for name, arguments in calls]
    text = "\n".join(map(str, calls))
    cut = data.draw(st.integers(0, len(text) - 1))
    content, found, parser = parsed(text[:cut], set())
    assert content in ("", TAG[: min(cut, len(TAG) - 1)]) and len(found) == parser.num_calls
    for whole, part in zip(calls, found, strict=False):
        assert part.name == whole.name and whole.arguments.startswith(part.arguments)
    assert [part for part in found if part.arguments == ""] in ([], [found[-1]] if found else [])


TOOL = {"type": "function", "function": {"name": "add", "description": "Adds.", "parameters": {"type": "object"}}}


def formatted(messages, tools=(), **template):
    messages = plain_messages(messages, tools, system=template.get("system"))
    pieces = ChatTemplate(**template).pieces(messages, is_answered=False)
    return "".join(piece.text for piece in pieces)


def test_tools_are_described_in_the_system_message():
    described = describe_tools([TOOL, TOOL])
    assert described.count(json.dumps(TOOL)) == 2 and '{"name": <function-name>, "arguments"' in described
    user = Message("user", "1 + 1?")
    expected = "<|im_start|>system\n{}<|im_end|>\n<|im_start|>user\n1 + 1?<|im_end|>\n<|im_start|>assistant\n"
    described = describe_tools([TOOL])
    assert formatted([user], [TOOL]) == expected.format(described)
    assert formatted([user], [TOOL], system="Be kind.") == expected.format(f"Be kind.\n\n{described}")
    own = Message("system", "Be brief.")
    assert formatted([own, user], [TOOL], system="Be kind.") == expected.format(f"Be brief.\n\n{described}")
    assert formatted([user]) == expected.partition("<|im_end|>\n")[2]


def test_calls_and_results_are_turns_of_the_assistant_and_the_user():
    calls = (ToolCall("add", '{"a": 1}'), ToolCall("add", "{}"))
    chat = [Message("user", "?"), Message("assistant", "Wait.", calls), Message("tool", "2"), Message("tool", "3")]
    assert formatted([*chat, Message("assistant", "", calls[:1]), Message("tool", "4")]) == (
        "<|im_start|>user\n?<|im_end|>\n<|im_start|>assistant\nWait.\n"
        '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>\n'
        '<tool_call>\n{"name": "add", "arguments": {}}\n</tool_call><|im_end|>\n'
        "<|im_start|>user\n<tool_response>\n2\n</tool_response>\n<tool_response>\n3\n</tool_response><|im_end|>\n"
        '<|im_start|>assistant\n<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call><|im_end|>\n'
        "<|im_start|>user\n<tool_response>\n4\n</tool_response><|im_end|>\n<|im_start|>assistant\n"
    )


@pytest.mark.parametrize("chat_format", ["gemma", "llama2", "mistral"])
def test_formats_without_system_messages_describe_tools_in_the_first_message(chat_format):
    text = formatted([Message("user", "1 + 1?")], [TOOL], format=chat_format)
    assert describe_tools([TOOL]) in text and text.index("</tools>") < text.index("1 + 1?")
