"""The tools of a request: their descriptions for the model, and the constraint on the answer that calls them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from tfattn.errors import listed
from tfattn.formats.tool_calls import TAG, call_texts
from tfattn.guidance.grammar import TOOL_CALLS
from tfattn.serving.protocols.rest.openai.fields import GuidedField
from tfattn.serving.protocols.rest.response import invalid_parameter

MAX_TOOLS = 128  # as in OpenAI's API
NO_PARAMETERS = {"type": "object", "properties": {}, "additionalProperties": False}
Mode = Literal["none", "auto", "required"]
_STRICT = ConfigDict(strict=True, extra="forbid")
Name = Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")]


class Function(BaseModel):
    """A function that the model may call. Arguments always match the parameters, with and without `strict`.

    Attributes:
        name: its name.
        description: what it does, for the model.
        parameters: the JSON schema of its arguments, an object; None for a function without arguments.
        strict: has no effect.
    """

    model_config = _STRICT

    name: Name
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class ToolType(BaseModel):
    """The type of a tool."""

    model_config = _STRICT

    type: Literal["function"]


class Tool(ToolType):
    """A tool of a chat."""

    function: Function


class FunctionName(BaseModel):
    """The name of a function."""

    model_config = _STRICT

    name: str


class NamedTool(ToolType):
    """A tool by its name."""

    function: FunctionName


class AllowedTools(BaseModel):
    """Some of the tools, and whether one of them must be called."""

    model_config = _STRICT

    mode: Literal["auto", "required"]
    tools: Annotated[tuple[NamedTool, ...], Field(min_length=1, max_length=MAX_TOOLS)]


class AllowedToolsChoice(BaseModel):
    """The choice of some of the tools."""

    model_config = _STRICT

    type: Literal["allowed_tools"]
    allowed_tools: AllowedTools


Tools = Annotated[tuple[Tool, ...], Field(max_length=MAX_TOOLS)]
ToolChoice = Mode | NamedTool | AllowedToolsChoice


@dataclass(frozen=True)
class ToolUse:
    """What a request says about tools.

    Args:
        functions: the functions that the model may call, each with the path of its schema below `tools`.
        mode: whether the answer is text, text or calls, or calls.
        parallel: whether there may be several calls.
    """

    functions: Sequence[tuple[Function, str]] = ()
    mode: Mode = "none"
    parallel: bool = True

    @classmethod
    def of(
        cls,
        functions: Mapping[str, Function],
        *,
        mode: Mode | None,
        names: Collection[str] | None,
        parallel: bool,
    ) -> "ToolUse":
        """Check and combine the fields of a request.

        Args:
            functions: the functions by the paths of their schemas.
            mode: the mode; None for "auto" if there are functions.
            names: the functions that may be called; None for all.
            parallel: whether there may be several calls.

        Raises:
            Failure: INVALID_ARGUMENT, with the parameter.
        """
        known = [function.name for function in functions.values()]
        if repeated := {name for name in known if known.count(name) > 1}:
            raise invalid_parameter("tools", f"two functions have the name {min(repeated)}")
        for path, function in functions.items():
            if function.parameters and function.parameters.get("type") != "object":
                raise invalid_parameter("tools", f'{path}: expected the schema of an object, with "type": "object"')
        if not known:
            if mode not in (None, "none"):
                raise invalid_parameter("tool_choice", "requires tools")
            return cls()
        if set(names or ()) - set(known):
            raise invalid_parameter("tool_choice", f"there is no such tool; expected {listed(known)}")
        chosen = [(function, path) for path, function in functions.items() if names is None or function.name in names]
        return cls(chosen, mode or "auto", parallel)

    @property
    def descriptions(self) -> tuple[dict[str, Any], ...]:
        """The functions for the chat template; none if the answer is text."""
        functions = [function for function, _ in self.functions] if self.mode != "none" else []
        return tuple({"type": "function", "function": _description(function)} for function in functions)

    def guided_field(self, other: GuidedField) -> GuidedField:
        """Return the constraint on the answer.

        Args:
            other: the constraint by another field of the request.

        Raises:
            Failure: INVALID_ARGUMENT, the other field is set, too.
        """
        if self.mode == "none":
            return other
        if other.guided:
            message = f"only one field can guide a text, received {listed(['tools', other.parameter])}"
            raise invalid_parameter("tools", f'{message}; leave one out, or set tool_choice to "none"')
        calls = [_call(function, path) for function, path in self.functions]
        trigger = TAG if self.mode == "auto" else None
        guided = {"calls": calls, "trigger": trigger, "parallel": self.parallel}
        return GuidedField("tools", "tools", {TOOL_CALLS: guided})


def tool_use(tools: Iterable[Tool], choice: ToolChoice | None, parallel: bool | None) -> ToolUse:
    """Return the use of tools in a chat.

    Raises:
        Failure: INVALID_ARGUMENT, with the parameter.
    """
    mode, names = choice, None
    if isinstance(choice, NamedTool):
        mode, names, parallel = "required", {choice.function.name}, False
    elif isinstance(choice, AllowedToolsChoice):
        allowed = choice.allowed_tools
        mode, names = allowed.mode, {tool.function.name for tool in allowed.tools}
    functions = {f"[{number}].function.parameters": tool.function for number, tool in enumerate(tools)}
    return ToolUse.of(functions, mode=mode, names=names, parallel=parallel is not False)


def _description(function: Function) -> dict[str, Any]:
    described = {"name": function.name, "description": function.description or ""}
    return {**described, "parameters": function.parameters or NO_PARAMETERS}


def _call(function: Function, path: str) -> dict[str, Any]:
    begin, end = call_texts(function.name)
    return {"begin": begin, "schema": function.parameters or NO_PARAMETERS, "end": end, "path": path}
