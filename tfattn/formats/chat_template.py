"""Chat templates: how the messages of a chat become one text, in the formats of published models."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from tfattn.formats.tool_calls import ToolCall, describe_tools, result_text

Role = Literal["system", "user", "assistant"]
ASSISTANT: Role = "assistant"


class Message(NamedTuple):
    """A message of a chat."""

    role: Role
    content: str


class ToolMessage(NamedTuple):
    """A message of a chat with tools.

    Attributes:
        role: its author; "tool" for the result of a call.
        content: its text.
        tool_calls: the calls after the text, in a message of the assistant.
    """

    role: Role | Literal["tool"]
    content: str
    tool_calls: tuple[ToolCall, ...] = ()


class Piece(NamedTuple):
    """A part of a formatted chat that is tokenized separately.

    Attributes:
        text: the text, or the name of a special token.
        is_special: whether `text` is the name of a special token.
        is_answer: whether the piece is part of an answer of the assistant.
    """

    text: str
    is_special: bool = False
    is_answer: bool = False


class ChatFormat(NamedTuple):
    """The texts around the messages of a chat.

    Texts are tokenized as they are; blanks that a tokenizer adds at the start of a text are written out.

    Attributes:
        special_tokens: the special tokens in these texts.
        user, assistant: the texts before and after a message.
        system: as user, of the system message; None if it is part of the user's first message.
        system_in_user: the texts before and after a system message in the user's first message.
        end: the special token that ends an answer.
        is_trimmed: whether white space around messages is dropped.
        repeats_start: whether the start token is before each message of the user.
        marks: texts that the template of a published model has, by which the format is recognized.
    """

    special_tokens: tuple[str, ...]
    user: tuple[str, str]
    assistant: tuple[str, str]
    system: tuple[str, str] | None
    end: str
    marks: tuple[str, ...]
    system_in_user: tuple[str, str] = ("", "\n\n")
    is_trimmed: bool = False
    repeats_start: bool = False


def _message(before: str, after: str, *roles: str) -> list[tuple[str, str]]:
    return [(before.format(role), after) for role in roles]


_CHATML = _message("<|im_start|>{}\n", "<|im_end|>\n", "user", "assistant", "system")
_LLAMA3 = _message("<|start_header_id|>{}<|end_header_id|>\n\n", "<|eot_id|>", "user", "assistant", "system")
_GEMMA = _message("<start_of_turn>{}\n", "<end_of_turn>\n", "user", "model")

# In the order in which they are recognized.
CHAT_FORMATS: dict[str, ChatFormat] = {
    "chatml": ChatFormat(("<|im_start|>", "<|im_end|>"), *_CHATML, end="<|im_end|>", marks=("<|im_start|>",)),
    "llama3": ChatFormat(
        ("<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"),
        *_LLAMA3,
        end="<|eot_id|>",
        marks=("<|start_header_id|>",),
        is_trimmed=True,
    ),
    "gemma": ChatFormat(
        ("<start_of_turn>", "<end_of_turn>"),
        *_GEMMA,
        system=None,
        end="<end_of_turn>",
        marks=("<start_of_turn>",),
        is_trimmed=True,
    ),
    "llama2": ChatFormat(
        ("</s>",),
        user=(" [INST] ", " [/INST]"),
        assistant=(" ", " </s>"),
        system=None,
        end="</s>",
        marks=("[INST]", "<<SYS>>"),
        system_in_user=("<<SYS>>\n", "\n<</SYS>>\n\n"),
        is_trimmed=True,
        repeats_start=True,
    ),
    "mistral": ChatFormat(
        ("</s>",),
        user=(" [INST] ", " [/INST]"),
        assistant=(" ", "</s>"),
        system=None,
        end="</s>",
        marks=("[INST]", " [/INST]"),
    ),
    "mistral_v3": ChatFormat(
        ("[INST]", "[/INST]", "</s>"),
        user=("[INST] ", "[/INST]"),
        assistant=(" ", "</s>"),
        system=None,
        end="</s>",
        marks=("[INST]",),
    ),
}
CHATML = "chatml"


@dataclass(frozen=True, kw_only=True)
class ChatTemplate:
    """A chat template.

    Args:
        format: a name of CHAT_FORMATS.
        system: system message of chats without a system message; None for no message.
        start: the special token before a chat; None for no token.

    Example:
        >>> pieces = ChatTemplate().pieces([Message("user", "Hi")], is_answered=False)
        >>> "".join(piece.text for piece in pieces)
        '<|im_start|>user\\nHi<|im_end|>\\n<|im_start|>assistant\\n'
    """

    format: str = CHATML
    system: str | None = None
    start: str | None = None

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "ChatTemplate":
        """Return the template of a `description`; earlier exports have ChatML, with its tokens."""
        return cls(**{name: values[name] for name in ("format", "system", "start") if name in values})

    @property
    def description(self) -> dict[str, Any]:
        """The arguments, and the texts of the format for users of an export."""
        known = CHAT_FORMATS[self.format]
        texts = {"user": known.user, ASSISTANT: known.assistant, "system": known.system}
        arguments = {"format": self.format, "system": self.system, "start": self.start}
        more = {"system_in_user": known.system_in_user, "repeats_start": known.repeats_start}
        return {**arguments, "texts": texts, **more}

    @property
    def special_tokens(self) -> tuple[str, ...]:
        """The special tokens that the vocabulary must have."""
        return (*([self.start] if self.start else []), *CHAT_FORMATS[self.format].special_tokens)

    @property
    def end(self) -> str:
        """The special token that ends an answer."""
        return CHAT_FORMATS[self.format].end

    def pieces(self, messages: Sequence[Message], *, is_answered: bool) -> list[Piece]:
        """Format a chat. Names of special tokens in messages are text.

        Args:
            messages: the messages, in order.
            is_answered: whether the chat is complete; otherwise a generation prompt for the assistant is added.
        """
        known = CHAT_FORMATS[self.format]
        if self.system is not None and (not messages or messages[0].role != "system"):
            messages = [Message("system", self.system), *messages]
        start = [Piece(self.start, is_special=True)] if self.start else []
        found = list(start)
        opening = ""  # a system message that is part of the user's message after it
        for role, content in messages:
            content = content.strip() if known.is_trimmed else content
            if role == "system" and known.system is None:
                opening = content.join(known.system_in_user)
                continue
            before, after = {"user": known.user, ASSISTANT: known.assistant, "system": known.system}[role]
            if role == "user" and known.repeats_start and len(found) > len(start):
                found += start
            if role == ASSISTANT:
                # A separate answer has the same tokens as text that the model generates after the prompt.
                blank = " " * (len(before) - len(before.rstrip(" ")))
                body = [*self._split(before.rstrip(" ")), Piece(blank + content, is_answer=True), *self._split(after)]
                found += [piece._replace(is_answer=piece.is_answer or piece.text == self.end) for piece in body]
            else:
                found += _joined([*self._split(before), Piece(opening + content), *self._split(after)])
                opening = ""
        return found if is_answered else [*found, *self._split(known.assistant[0].rstrip(" "))]

    def _split(self, text: str) -> list[Piece]:
        """Divide a text of the format into special tokens and other texts."""
        names = "|".join(map(re.escape, self.special_tokens))
        return [Piece(part, is_special=part in self.special_tokens) for part in re.split(f"({names})", text) if part]


def plain_messages(
    messages: Sequence[ToolMessage], tools: Sequence[Mapping[str, Any]], *, system: str | None
) -> list[Message]:
    """Return a chat with tools as texts of the system, the user and the assistant, see formats/tool_calls.py.

    Args:
        messages: the messages, in order.
        tools: the tools that the system message describes.
        system: the system message of chats without a system message; None for no message.

    Example:
        >>> plain_messages([ToolMessage("tool", "18 degrees")], [], system=None)[0].content
        '<tool_response>\\n18 degrees\\n</tool_response>'
    """
    found: list[Message] = []
    if tools:
        has_system = bool(messages) and messages[0].role == "system"
        text = messages[0].content if has_system else system
        found.append(Message("system", "\n\n".join([*([text] if text else []), describe_tools(tools)])))
        messages = messages[1:] if has_system else messages
    is_result = False
    for role, content, calls in messages:
        if role == "tool" and is_result:
            found[-1] = Message("user", f"{found[-1].content}\n{result_text(content)}")
        elif role == "tool":
            found.append(Message("user", result_text(content)))
        else:
            found.append(Message(role, "\n".join([*([content] if content or not calls else []), *map(str, calls)])))
        is_result = role == "tool"
    return found


def recognize_format(template: str) -> str | None:
    """Return the name of the format that a published template, a program in Jinja, describes; None if it is unknown.

    The program is not run.
    """
    return next((name for name, known in CHAT_FORMATS.items() if all(mark in template for mark in known.marks)), None)


def _joined(pieces: Sequence[Piece]) -> list[Piece]:
    """Join adjacent texts."""
    found: list[Piece] = []
    for piece in pieces:
        if found and not (piece.is_special or found[-1].is_special):
            found[-1] = Piece(found[-1].text + piece.text)
        elif piece.text:
            found.append(piece)
    return found
