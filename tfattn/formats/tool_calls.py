"""Tools in chats as text, in the Hermes form: JSON between tags.

Source of the texts: the chat template of Qwen2.5. Hermes 2 Pro uses the same tags.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

TAG = "<tool_call>"
_END = "}\n</tool_call>"
_HEAD = re.compile(r'\n\{"name": "([^"]*)", "arguments": ')
_DESCRIPTION = """\
# Tools

You may call one or more functions to assist with the user query.

You are provided with function signatures within <tools></tools> XML tags:
<tools>
{tools}
</tools>

For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:
<tool_call>
{{"name": <function-name>, "arguments": <args-json-object>}}
</tool_call>"""


class ToolCall(NamedTuple):
    """A call of a function.

    Attributes:
        name: the name of the function.
        arguments: its arguments, an object as JSON.
    """

    name: str
    arguments: str

    def __str__(self) -> str:
        begin, end = call_texts(self.name)
        return f"{begin}{self.arguments}{end}"


def call_texts(name: str) -> tuple[str, str]:
    """Return the texts before and after the arguments of a call."""
    return f'{TAG}\n{{"name": "{name}", "arguments": ', _END


def describe_tools(tools: Iterable[Mapping[str, Any]]) -> str:
    """Return the text of a system message about tools, each {"type": "function", "function": {...}}."""
    return _DESCRIPTION.format(tools="\n".join(json.dumps(tool, ensure_ascii=False) for tool in tools))


def result_text(content: str) -> str:
    """Return the text about the result of a call, in a message of the user."""
    return f"<tool_response>\n{content}\n</tool_response>"


class Delta(NamedTuple):
    """A new part of an answer: content, the start of a call, or a piece of its arguments.

    Attributes:
        content: the content; empty in calls.
        index: the number of the call; None in content.
        name: the name of the function at the start of a call; empty otherwise.
        arguments: a piece of the arguments.
    """

    content: str = ""
    index: int | None = None
    name: str = ""
    arguments: str = ""


class ToolCallParser:
    """An incremental parser of a generated text: content, then calls.

    It holds back characters that may be a part of a tag.

    Attributes:
        num_calls: the number of calls so far.
        is_cut: whether the text so far ends within a call.

    Example:
        >>> parser = ToolCallParser()
        >>> parser.add('Hi <tool_call>\\n{"name": "add", "arguments": {"a"')
        [Delta(content='Hi ', index=None, name='', arguments=''), Delta(content='', index=0, name='add', arguments=''),
         Delta(content='', index=0, name='', arguments='{"a"')]
        >>> parser.add(": 1}}\\n</tool_call>")
        [Delta(content='', index=0, name='', arguments=': 1}')]
    """

    def __init__(self) -> None:
        self.num_calls = 0
        self.is_cut = False
        self._has_head = False
        self._held = self._arguments = ""

    def add(self, text: str) -> list[Delta]:
        """Add generated text, and return the new parts."""
        self._held += text
        found: list[Delta] = []
        while (delta := self._next()) is not None:
            found += [delta] if delta != Delta() else []
        return found

    def end(self) -> list[Delta]:
        """Return the last part: what was held back."""
        held, self._held = self._held, ""
        if not self.is_cut:
            return [Delta(held)] if held and not self.num_calls else []
        # The last characters may be of the call, and not of its arguments.
        return [self._piece(held)] if held and self._has_head and not _is_json(self._arguments) else []

    def _next(self) -> Delta | None:
        """Take the next part from the held text; None if more text is needed."""
        if not self.is_cut:
            before, tag, rest = self._held.partition(TAG)
            if tag:
                self._held, self.is_cut, self._has_head = rest, True, False
                return Delta("" if self.num_calls else before)
            count = len(self._held) - overlap(self._held, TAG)
            if self.num_calls or not count:
                return None
            content, self._held = self._held[:count], self._held[count:]
            return Delta(content)
        if not self._has_head:
            head = _HEAD.match(self._held)
            if head is None:
                return None
            self._held, self._has_head, self._arguments = self._held[head.end() :], True, ""
            self.num_calls += 1
            return Delta(index=self.num_calls - 1, name=head[1])
        arguments, end, rest = self._held.partition(_END)
        if end:
            self._held, self.is_cut = rest, False
        else:
            count = len(self._held) - overlap(self._held, _END)
            arguments, self._held = self._held[:count], self._held[count:]
            if not arguments:
                return None
        return self._piece(arguments) if arguments else Delta()

    def _piece(self, arguments: str) -> Delta:
        self._arguments += arguments
        return Delta(index=self.num_calls - 1, arguments=arguments)


def overlap(text: str | bytes, mark: str | bytes) -> int:
    """Return the length of the longest end of a text that may be the start of a mark, and is not all of it.

    Example:
        >>> overlap("a <tool", "<tool_call>")
        5
    """
    longest = min(len(text), len(mark) - 1)
    return next((length for length in range(longest, 0, -1) if mark.startswith(text[-length:])), 0)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
