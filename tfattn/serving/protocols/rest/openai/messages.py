"""The messages of a chat."""

import json
from collections.abc import Iterable
from typing import Literal

from pydantic import BaseModel, ConfigDict, field_validator, model_validator

from tfattn.formats.tool_calls import ToolCall
from tfattn.serving.generation.request import ChatMessage
from tfattn.serving.protocols.rest.response import invalid_parameter

ROLES = {"developer": "system"}  # OpenAI's newer name


class TextPart(BaseModel):
    """A text part of a message."""

    model_config = ConfigDict(strict=True)

    type: Literal["text"]
    text: str


Content = str | tuple[TextPart, ...]


class FunctionCall(BaseModel):
    """A call of a function in an earlier answer."""

    model_config = ConfigDict(strict=True)

    name: str
    arguments: str

    @field_validator("arguments")
    @classmethod
    def _is_object(cls, arguments: str) -> str:
        return json_object(arguments)


class ToolCallFields(BaseModel):
    """A call of a tool in an earlier answer, with its id."""

    model_config = ConfigDict(strict=True)

    id: str
    type: Literal["function"]
    function: FunctionCall


class MessageFields(BaseModel):
    """A message. The `name` of its author is ignored.

    Attributes:
        role: its author.
        content: its text; None in messages of the assistant with calls.
        tool_calls: the calls in a message of the assistant.
        tool_call_id: the id of the call whose result a message of the role tool is.
    """

    model_config = ConfigDict(strict=True)

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: Content | None = None
    tool_calls: tuple[ToolCallFields, ...] | None = None
    tool_call_id: str | None = None
    # Parts of OpenAI's messages that the server never returns.
    function_call: None = None
    audio: None = None
    refusal: None = None

    @model_validator(mode="after")
    def _fits_role(self) -> "MessageFields":
        if self.tool_calls and self.role != "assistant":
            raise ValueError("tool_calls: only messages of the role assistant have them")
        if (self.tool_call_id is not None) != (self.role == "tool"):
            raise ValueError("tool_call_id: messages of the role tool have it, and no others")
        if self.content is None and not self.tool_calls:
            raise ValueError("content: expected a text")
        return self

    @property
    def message(self) -> ChatMessage:
        """Return the message for the model."""
        calls = tuple(ToolCall(call.function.name, call.function.arguments) for call in self.tool_calls or ())
        return ChatMessage(role=ROLES.get(self.role, self.role), content=joined(self.content), tool_calls=calls)


def chat_messages(messages: Iterable[MessageFields], *, parameter: str) -> tuple[ChatMessage, ...]:
    """Return messages for the model.

    Args:
        messages: the messages.
        parameter: their field, for messages of failures.

    Raises:
        Failure: INVALID_ARGUMENT, the message of a tool has no call before it, or a call has no result after it.
    """
    waiting: set[str] = set()
    number = -1
    for number, message in enumerate(messages):
        if message.role == "tool":
            if message.tool_call_id not in waiting:
                expected = "expected the id of a call in the message of the assistant before it, with one result each"
                raise invalid_parameter(parameter, f"{number}: tool_call_id: {expected}")
            waiting.remove(message.tool_call_id)
        elif waiting:
            raise _unanswered(parameter, number, len(waiting))
        else:
            calls = [call.id for call in message.tool_calls or ()]
            waiting = set(calls)
            if len(waiting) < len(calls):
                raise invalid_parameter(parameter, f"{number}: tool_calls: two calls have the same id")
    if waiting:
        raise _unanswered(parameter, number + 1, len(waiting))
    return tuple(message.message for message in messages)


def joined(content: Content | None) -> str:
    """Return the text of a message."""
    if content is None or isinstance(content, str):
        return content or ""
    return "".join(part.text for part in content)


def json_object(text: str) -> str:
    """Return a text that is an object in JSON.

    Raises:
        ValueError: it is no object.
    """
    try:
        is_object = isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        is_object = False
    if not is_object:
        raise ValueError("expected an object as JSON")
    return text


def _unanswered(parameter: str, number: int, count: int) -> Exception:
    message = f"expected the results of {count} calls of tools, in messages of the role tool"
    return invalid_parameter(parameter, f"{number}: {message}")
