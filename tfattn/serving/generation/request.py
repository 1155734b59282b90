"""What a text is to be written to, and how."""

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError
from pydantic.functional_validators import AfterValidator

from tfattn.serving.api.failure import Failure, invalid

MOST_CHOICES, MOST_PROMPTS = 16, 16
MOST_STOPS, LONGEST_STOP = 16, 128  # bytes, as many as the export's own texts take
MOST_LIKELIEST = 20  # that a step of an export tells

Model = TypeVar("Model", bound=BaseModel)


def _checked_stop(stop: str) -> str:
    if not stop:
        raise ValueError("a stop string must not be empty")
    if (size := len(stop.encode("utf-8", "replace"))) > LONGEST_STOP:
        raise ValueError(f"a stop string may have {LONGEST_STOP} bytes, received {size}")
    return stop


Stop = Annotated[str, AfterValidator(_checked_stop)]
Stops = Annotated[tuple[Stop, ...], Field(max_length=MOST_STOPS)]


class ChatMessage(BaseModel):
    """What somebody says in a chat."""

    model_config = ConfigDict(strict=True, frozen=True)

    role: Literal["system", "user", "assistant"]
    content: str


Prompt = str | tuple[int, ...] | tuple[ChatMessage, ...]


class Settings(BaseModel):
    """How a text is written; None stands for what the export says, or else for what changes nothing.

    Attributes:
        temperature: divides the logits; at 0 the likeliest token is taken.
        top_k: how many of the likeliest tokens may be drawn; 0 or -1 for all.
        top_p: the sum of probabilities that the likeliest tokens need to reach, above 0; 1 for all.
        min_p: the fraction of the largest probability that a token needs to have; 0 for all.
        repetition_penalty: divides the logits of tokens that stand in the prompt or were written; 1 changes nothing.
        presence_penalty: is subtracted from the logits of tokens that were written.
        frequency_penalty: is subtracted for each time that a token was written.
    """

    model_config = ConfigDict(strict=True, frozen=True)

    temperature: Annotated[FiniteFloat, Field(ge=0)] | None = None
    top_k: Annotated[int, Field(ge=-1, le=2**31 - 1)] | None = None
    top_p: Annotated[FiniteFloat, Field(gt=0, le=1)] | None = None
    min_p: Annotated[FiniteFloat, Field(ge=0, le=1)] | None = None
    repetition_penalty: Annotated[FiniteFloat, Field(gt=0, le=100)] | None = None
    presence_penalty: Annotated[FiniteFloat, Field(ge=-2, le=2)] | None = None
    frequency_penalty: Annotated[FiniteFloat, Field(ge=-2, le=2)] | None = None

    def complete(self, defaults: Mapping[str, float]) -> dict[str, float]:
        """Return every setting, those that are not given as an export says."""
        given = {name: getattr(self, name) for name in NEUTRAL}
        return {name: defaults.get(name, NEUTRAL[name]) if value is None else value for name, value in given.items()}


# What changes nothing.
NEUTRAL = {
    "temperature": 1.0,
    "top_k": 0,
    "top_p": 1.0,
    "min_p": 0.0,
    "repetition_penalty": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
}


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
        ignores_end: whether a text goes on where the model would end it, as measurements of speed want it.

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
    ignores_end: bool = False


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
