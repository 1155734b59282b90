"""What a text is to be written to, and how."""

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, NonNegativeInt, ValidationError, create_model
from pydantic.functional_validators import AfterValidator

from tfattn.sampling_params import ANNOTATIONS, RANGES, SamplingParams
from tfattn.serving.api.failure import Failure, invalid

MOST_CHOICES, MOST_PROMPTS = 16, 16
MOST_STOPS, LONGEST_STOP = 16, 128  # bytes, as many as the export's own texts take
MOST_LIKELIEST = 20  # that a step of an export tells
MOST_BIASED, MOST_BAD_WORDS, LONGEST_BAD_WORD = 1024, 1024, 128  # tokens; words; characters

Model = TypeVar("Model", bound=BaseModel)


def _checked_stop(stop: str) -> str:
    if not stop:
        raise ValueError("a stop string must not be empty")
    if (size := len(stop.encode("utf-8", "replace"))) > LONGEST_STOP:
        raise ValueError(f"a stop string may have {LONGEST_STOP} bytes, received {size}")
    return stop


Stop = Annotated[str, AfterValidator(_checked_stop)]
Stops = Annotated[tuple[Stop, ...], Field(max_length=MOST_STOPS)]

TokenIds = tuple[NonNegativeInt, ...]
AllowedTokenIds = Annotated[TokenIds, Field(min_length=1)]
BadWord = Annotated[str, Field(min_length=1, max_length=LONGEST_BAD_WORD)]
BadWords = Annotated[tuple[BadWord, ...], Field(max_length=MOST_BAD_WORDS)]
Bias = Annotated[FiniteFloat, Field(ge=-100, le=100)]
LogitBias = Annotated[dict[NonNegativeInt, Bias], Field(max_length=MOST_BIASED)]


class ChatMessage(BaseModel):
    """What somebody says in a chat."""

    model_config = ConfigDict(strict=True, frozen=True)

    role: Literal["system", "user", "assistant"]
    content: str


Prompt = str | tuple[int, ...] | tuple[ChatMessage, ...]


_STRICT = ConfigDict(strict=True, frozen=True)
_OPTIONAL = {name: (annotation | None, None) for name, annotation in ANNOTATIONS.items()}


class Settings(create_model("OptionalSamplingParams", __config__=_STRICT, **_OPTIONAL)):
    """Those of `SamplingParams` that a request gives; None means what the export says, or else the default."""

    def complete(self, defaults: Mapping[str, float]) -> dict[str, float]:
        """Return every setting, those that are not given as an export says."""
        usual = vars(SamplingParams()) | dict(defaults)
        given = {name: getattr(self, name) for name in ANNOTATIONS}
        return {name: usual[name] if value is None else value for name, value in given.items()}


class Request(Settings):
    """Texts that are wanted: n for each prompt.

    Attributes:
        prompts: each a text, token ids, or the messages of a chat that the assistant is to continue.
        max_new_tokens: the most tokens of a text; None for as many as the export says, or else as the context has room.
        n: how many texts of each prompt.
        seed: from which all is drawn; None for another one each time. The low 32 bits count. The first text of a prompt
            has this very seed, whatever n is.
        stop: texts that end a text; they are not a part of it.
        likeliest: how many of the likeliest tokens are told of each place; None tells no probabilities at all.
        guided: what a text must be, by one of the fields `response_format`, `guided_choice`, `guided_json`,
            `guided_regex` and `guided_grammar` (see guidance/grammar.py); empty where it may be anything.
        min_tokens: how many tokens a text has before an end token, a stop token or a stop string may end it.
        stop_token_ids: tokens that end a text, in addition to the model's own; they are not a part of it.
        ignore_eos: whether a text goes on where the model would end it.
        bad_words: words that are not written, as the tokens by which the model would read them.
        allowed_token_ids: the only tokens that are drawn; None for all. Without an end token among them a text is cut.
        logit_bias: what is added to the logits of tokens, by their numbers; -100 and 100 forbid and force a token.

    Example:
        >>> Request(prompts=("Once upon a time",), temperature=0.0, max_new_tokens=20).n
        1
    """

    model_config = ConfigDict(extra="forbid")

    prompts: Annotated[tuple[Prompt, ...], Field(min_length=1, max_length=MOST_PROMPTS)]
    max_new_tokens: Annotated[int, Field(ge=1)] | None = None
    n: Annotated[int, Field(ge=1, le=MOST_CHOICES)] = 1
    seed: Annotated[int, Field(ge=-(2**63), lt=2**64)] | None = None
    stop: Stops = ()
    likeliest: Annotated[int, Field(ge=0, le=MOST_LIKELIEST)] | None = None
    guided: dict[str, Any] = {}
    min_tokens: Annotated[int, Field(ge=0)] = 0
    stop_token_ids: TokenIds = ()
    ignore_eos: bool = False
    bad_words: BadWords = ()
    allowed_token_ids: AllowedTokenIds | None = None
    logit_bias: LogitBias = {}


def read(model: type[Model], body: bytes) -> Model:
    """Read a message of JSON.

    Raises:
        Failure: INVALID_ARGUMENT, with the parameter that is wrong.
    """
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        raise refusal(error) from None


def refusal(error: ValidationError) -> Failure:
    """Make the failure of the first thing that pydantic refuses."""
    problems = error.errors(include_url=False)
    place = problems[0]["loc"][:1]
    # Of a value that may be of several types, what is wrong with its own type says more than that it is not of another.
    of_type = [one for one in problems if one["loc"][:1] == place and not one["type"].endswith("_type")]
    problem = (of_type or problems)[0]
    message = problem["msg"].removeprefix("Value error, ")
    if place and place[0] in RANGES and not problem["type"].endswith("_type"):
        message = f"expected {RANGES[place[0]]}"  # as the signatures of an export word it
    if problem["type"] not in ("json_invalid", "missing", "value_error"):
        message = f"{message}, received {_shown(problem['input'])}"
    failure = invalid(": ".join([*map(str, place), message]))
    failure.parameter = str(place[0]) if place else ""
    return failure


def _shown(value: Any) -> str:
    """Write what was received: a number, or of what kind it is; texts of requests are not repeated."""
    if value is None or isinstance(value, bool | int | float):
        return json.dumps(value)
    return {str: "a string", dict: "an object"}.get(type(value), "a list")
