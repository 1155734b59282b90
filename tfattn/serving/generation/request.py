"""A request for generated text, its validation, and the limits of a model that serves requests."""

import json
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    NonNegativeInt,
    ValidationError,
    create_model,
    model_validator,
)

from tfattn.formats.chat_template import Role
from tfattn.formats.tool_calls import ToolCall
from tfattn.sampling_params import ANNOTATIONS, MAX_INT, RANGES, NumTexts, SamplingParams
from tfattn.serving.api.failure import Failure, invalid

MAX_PROMPTS = 16
MAX_BIASED, MAX_BAD_WORDS, MAX_BAD_WORD_CHARACTERS = 1024, 1024, 128

Model = TypeVar("Model", bound=BaseModel)


class TextLimits(NamedTuple):
    """Limits of a language model that serves requests.

    Attributes:
        max_running: the most sequences that are generated at a time.
        max_waiting: the most further sequences that wait.
        prefix_bytes: the most bytes of keys and values that are kept for prompts with a common prefix.
        speculative: whether to propose tokens and verify several of them in a step.
    """

    max_running: int = 8
    max_waiting: int = 100
    prefix_bytes: int = 2**28
    speculative: bool = True


class Occupancy(NamedTuple):
    """The number of sequences that are generated now, and that wait."""

    writing: int
    waiting: int


DEFAULT_LIMITS = TextLimits()


TokenIds = tuple[NonNegativeInt, ...]
AllowedTokenIds = Annotated[TokenIds, Field(min_length=1)]
BadWord = Annotated[str, Field(min_length=1, max_length=MAX_BAD_WORD_CHARACTERS)]
BadWords = Annotated[tuple[BadWord, ...], Field(max_length=MAX_BAD_WORDS)]
Bias = Annotated[FiniteFloat, Field(ge=-100, le=100)]
NumTokens = Annotated[int, Field(ge=0, le=MAX_INT)]  # 0 is for a prompt alone
LogitBias = Annotated[dict[NonNegativeInt, Bias], Field(max_length=MAX_BIASED)]


class ChatMessage(BaseModel):
    """A message of a chat, see `ToolMessage`."""

    model_config = ConfigDict(strict=True, frozen=True)

    role: Role | Literal["tool"]
    content: str
    tool_calls: tuple[ToolCall, ...] = ()


Prompt = str | tuple[int, ...] | tuple[ChatMessage, ...]


_STRICT = ConfigDict(strict=True, frozen=True)
_OPTIONAL = {name: (annotation | None, None) for name, annotation in ANNOTATIONS.items()}


class Settings(create_model("OptionalSamplingParams", __config__=_STRICT, **_OPTIONAL)):
    """Sampling parameters of a request; None means the default of the export, or else of `SamplingParams`."""

    def complete(self, defaults: Mapping[str, Any]) -> SamplingParams:
        """Return the sampling parameters, with the defaults of an export where the request has none."""
        given = {name: value for name in ANNOTATIONS if (value := getattr(self, name)) is not None}
        return SamplingParams(**{**defaults, **given})


class Request(Settings):
    """A request for n texts for each prompt, with the fields of `SamplingParams`.

    Attributes:
        prompts: each a text, token ids, or the messages of a chat that the assistant continues.
        n: the number of texts for each prompt.
        tools: the tools that a chat describes to the model, see formats/tool_calls.py.
        guided: the constraint on a text, by one of the fields `response_format`, `guided_choice`, `guided_json`,
            `guided_regex`, `guided_grammar` and `tool_calls` (see guidance/grammar.py); empty for no constraint.
        max_tokens: as in `SamplingParams`; 0 with `echo` to return the prompt alone.
        echo: whether each text starts with its prompt, with the log probabilities of its tokens if `logprobs` is set.
        min_tokens: the number of tokens before an end token, a stop token or a stop string may end a text.
        stop_token_ids: tokens that end a text, in addition to the model's own; they are not a part of it.
        ignore_eos: whether a text continues where the model would end it.
        bad_words: words that are not generated, as tokenized by the model.
        allowed_token_ids: the only tokens that may be generated; None for all. Without an end token among them, only
            the length or a stop string ends a text.
        logit_bias: added to the logits of tokens, by their ids; -100 forbids a token and 100 forces it.

    Example:
        >>> Request(prompts=("Once upon a time",), temperature=0.0, max_tokens=20).n
        1
    """

    model_config = ConfigDict(extra="forbid")

    prompts: Annotated[tuple[Prompt, ...], Field(min_length=1, max_length=MAX_PROMPTS)]
    n: NumTexts = 1
    tools: tuple[dict[str, Any], ...] = ()
    guided: dict[str, Any] = {}
    max_tokens: NumTokens | None = None
    echo: bool = False
    min_tokens: Annotated[int, Field(ge=0)] = 0
    stop_token_ids: TokenIds = ()
    ignore_eos: bool = False
    bad_words: BadWords = ()
    allowed_token_ids: AllowedTokenIds | None = None
    logit_bias: LogitBias = {}

    @model_validator(mode="after")
    def _has_output(self) -> "Request":
        if self.max_tokens == 0 and not self.echo:
            raise ValueError(f"max_tokens: expected {RANGES['max_tokens']}, or 0 with echo")
        return self


def read(model: type[Model], body: bytes) -> Model:
    """Validate a JSON message.

    Raises:
        Failure: INVALID_ARGUMENT, with the invalid parameter.
    """
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        raise refusal(error) from None


def refusal(error: ValidationError) -> Failure:
    """Return the failure that describes the first error of a validation."""
    problems = error.errors(include_url=False)
    location = problems[0]["loc"][:1]
    # For a value that may have several types, an error within its own type says more than a mismatch with another type.
    values = [found for found in problems if found["loc"][:1] == location and not found["type"].endswith("_type")]
    problem = (values or problems)[0]
    message = problem["msg"].removeprefix("Value error, ")
    if location and location[0] in RANGES and not problem["type"].endswith("_type"):
        message = f"expected {RANGES[location[0]]}"  # the message of an export's signatures
    if problem["type"] not in ("json_invalid", "missing", "value_error"):
        message = f"{message}, received {_shown(problem['input'])}"
    failure = invalid(": ".join([*([_path(problem["loc"])] if location else []), message]))
    failure.parameter = str(location[0]) if location else ""
    return failure


def _path(location: tuple[str | int, ...]) -> str:
    """Return the name of a field, with the path within an item of a list, such as tools[0].function."""
    path, *inside = map(str, location)
    if not inside or not isinstance(location[1], int):
        return path
    for part in inside:
        if not re.fullmatch(r"[0-9]+|(?!str$)[a-z_]{1,64}", part):  # the type of a value, or a name in the request
            break
        path += f"[{part}]" if part.isdecimal() else f".{part}"
    return path


def _shown(value: Any) -> str:
    """Return a number as received, or the type of any other value: messages do not repeat texts of requests."""
    if value is None or isinstance(value, bool | int | float):
        return json.dumps(value)
    return {str: "a string", dict: "an object"}.get(type(value), "a list")
