"""OpenAI's responses, without stored state."""

from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, field_validator

from tfattn.sampling_params import MAX_INT, MaxTokens
from tfattn.serving.generation.request import Request
from tfattn.serving.protocols.rest.openai.fields import JSON_OBJECT, GuidedField, TextFields
from tfattn.serving.protocols.rest.openai.messages import (
    FunctionCall,
    MessageFields,
    ToolCallFields,
    chat_messages,
    json_object,
)
from tfattn.serving.protocols.rest.openai.response_builder import ResponseBuilder
from tfattn.serving.protocols.rest.openai.responses_builder import ResponsesBuilder
from tfattn.serving.protocols.rest.openai.tools import MAX_TOOLS, Function, FunctionName, Mode, ToolType, ToolUse
from tfattn.serving.protocols.rest.response import invalid_parameter

_STRICT = ConfigDict(strict=True)
_REFUSED = {
    "store": ("it stores no responses; leave store out", (False,)),
    "max_tokens": ("use max_output_tokens", ()),
    "n": ("a response has one text; use /v1/chat/completions", (1,)),
    "logprobs": ("use /v1/chat/completions", ()),
}


class InputText(BaseModel):
    """A text part of an item."""

    model_config = _STRICT

    type: Literal["input_text", "output_text"]
    text: str


Content = str | tuple[InputText, ...]


class InputMessage(BaseModel):
    """A message. The id and the status of an earlier answer are ignored."""

    model_config = _STRICT

    type: Literal["message"] = "message"
    role: Literal["system", "developer", "user", "assistant"]
    content: Content


class InputCall(BaseModel):
    """A call in an earlier answer."""

    model_config = _STRICT

    type: Literal["function_call"]
    call_id: str
    name: str
    arguments: str

    @field_validator("arguments")
    @classmethod
    def _is_object(cls, arguments: str) -> str:
        return json_object(arguments)

    @property
    def fields(self) -> ToolCallFields:
        """The call in a message of a chat."""
        function = FunctionCall(name=self.name, arguments=self.arguments)
        return ToolCallFields(id=self.call_id, type="function", function=function)


class InputResult(BaseModel):
    """The result of a call."""

    model_config = _STRICT

    type: Literal["function_call_output"]
    call_id: str
    output: Content


def _item_type(item: Any) -> Any:
    return item.get("type", "message") if isinstance(item, dict) else getattr(item, "type", None)


Item = Annotated[
    Annotated[InputMessage, Tag("message")]
    | Annotated[InputCall, Tag("function_call")]
    | Annotated[InputResult, Tag("function_call_output")],
    Discriminator(_item_type),
]


class TextFormat(BaseModel):
    """The form of the text."""

    model_config = ConfigDict(strict=True, extra="forbid")

    type: Literal["text", "json_object", "json_schema"]
    name: str | None = None
    description: str | None = None
    schema_: Annotated[dict[str, Any] | None, Field(alias="schema")] = None
    strict: bool | None = None


class TextConfig(BaseModel):
    """The settings of the text."""

    model_config = ConfigDict(strict=True, extra="forbid")

    format: TextFormat | None = None
    verbosity: Literal["medium"] | None = None


class FunctionTool(Function, ToolType):
    """A function that the model may call."""


class NamedFunction(FunctionName, ToolType):
    """A function by its name."""


class AllowedFunctions(BaseModel):
    """The choice of some of the functions."""

    model_config = ConfigDict(strict=True, extra="forbid")

    type: Literal["allowed_tools"]
    mode: Literal["auto", "required"]
    tools: Annotated[tuple[NamedFunction, ...], Field(min_length=1, max_length=MAX_TOOLS)]


class ResponsesFields(TextFields):
    """A request to /v1/responses.

    Attributes:
        input: the text of the user, or messages, calls and their results.
        instructions: a system message before the input.
        max_output_tokens: the maximum number of generated tokens.
        text: the form of the text.
        tools, tool_choice, parallel_tool_calls: see `ChatFields`.
        store: refused, because the server stores no responses.
        metadata: returned as it is.
    """

    input: str | Annotated[tuple[Item, ...], Field(min_length=1)]
    instructions: str | None = None
    max_output_tokens: MaxTokens | None = None
    text: TextConfig | None = None
    tools: Annotated[tuple[FunctionTool, ...], Field(max_length=MAX_TOOLS)] | None = None
    tool_choice: Mode | NamedFunction | AllowedFunctions | None = None
    parallel_tool_calls: bool | None = None
    store: bool | None = None
    metadata: dict[str, str] | None = None

    prompt_name: ClassVar[str] = "input"

    @cached_property
    def tool_use(self) -> ToolUse:
        """The use of tools."""
        choice, parallel = self.tool_choice, self.parallel_tool_calls is not False
        mode, names = choice, None
        if isinstance(choice, NamedFunction):
            mode, names, parallel = "required", {choice.name}, False
        elif isinstance(choice, AllowedFunctions):
            mode, names = choice.mode, {tool.name for tool in choice.tools}
        functions = {f"[{number}].parameters": tool for number, tool in enumerate(self.tools or ())}
        return ToolUse.of(functions, mode=mode, names=names, parallel=parallel)

    @cached_property
    def guided_field(self) -> GuidedField:
        found = super().guided_field
        text_format = self.text.format if self.text else None
        if text_format is not None and text_format.type != "text":
            if found.guided:
                raise invalid_parameter("text", f"only one field can guide a text, received text, {found.parameter}")
            found = _text_guide(text_format)
        return self.tool_use.guided_field(found)

    def model_request(self) -> tuple[Request, ResponseBuilder]:
        """Return the request to the model and the builder of its response.

        Raises:
            Failure: INVALID_ARGUMENT, with the parameter.
        """
        for name, (remedy, neutral) in _REFUSED.items():
            if (value := getattr(self, name)) is not None and value not in neutral:
                message = f"this server does not support it; {remedy}"
                raise invalid_parameter(name, message, error_code="unsupported_parameter")
        messages = chat_messages(self._messages(), parameter="input")
        limit = self.max_output_tokens or MAX_INT
        request = self.request((messages,), max_tokens=limit, tools=self.tool_use.descriptions)
        return request, ResponsesBuilder(self._described(), has_calls=self.tool_use.mode != "none")

    def _messages(self) -> list[MessageFields]:
        """Return the input as messages of a chat: calls are parts of the assistant's message before them."""
        found = [MessageFields(role="system", content=self.instructions)] if self.instructions else []
        if isinstance(self.input, str):
            return [*found, MessageFields(role="user", content=self.input)]
        for item in self.input:
            if isinstance(item, InputMessage):
                found.append(MessageFields(role=item.role, content=_joined(item.content)))
            elif isinstance(item, InputResult):
                content = _joined(item.output)
                found.append(MessageFields(role="tool", content=content, tool_call_id=item.call_id))
            elif found and found[-1].role == "assistant":
                calls = (*(found[-1].tool_calls or ()), item.fields)
                found[-1] = found[-1].model_copy(update={"tool_calls": calls})
            else:
                found.append(MessageFields(role="assistant", tool_calls=(item.fields,)))
        return found

    def _described(self) -> dict[str, Any]:
        """Return the fields that a response repeats."""
        choice = self.tool_choice
        return {
            "model": self.model,
            "instructions": self.instructions,
            "max_output_tokens": self.max_output_tokens,
            "metadata": self.metadata or {},
            "temperature": self.temperature,
            "top_p": self.top_p,
            "text": {"format": self.text.format.model_dump(by_alias=True, exclude_none=True)}
            if self.text and self.text.format
            else {"format": {"type": "text"}},
            "tools": [tool.model_dump() for tool in self.tools or ()],
            "tool_choice": choice.model_dump() if isinstance(choice, BaseModel) else choice or "auto",
            "parallel_tool_calls": self.parallel_tool_calls is not False,
        }


def _text_guide(text_format: TextFormat) -> GuidedField:
    if text_format.type == "json_object":
        return GuidedField("text", "text.format", {"response_format": JSON_OBJECT})
    if text_format.schema_ is None:
        raise invalid_parameter("text", 'format: expected {"type": "json_schema", "name": "NAME", "schema": {...}}')
    return GuidedField("text", "text.format.schema", {"guided_json": text_format.schema_})


def _joined(content: Content) -> str:
    return content if isinstance(content, str) else "".join(part.text for part in content)
