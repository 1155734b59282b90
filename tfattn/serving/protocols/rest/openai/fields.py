"""The fields that requests for completions and for chats have in common."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from tfattn.errors import ServingError
from tfattn.guidance.grammar import READERS, requested
from tfattn.serving.api.failure import Failure, invalid
from tfattn.serving.generation.request import MOST_CHOICES, Request, Settings, Stop, Stops

# Fields that would change the answer, and that this server does not know.
UNKNOWN = ("tools", "functions", "logit_bias", "suffix")

MaxTokens = Annotated[int, Field(ge=1)]


class StreamOptions(BaseModel):
    """What a stream tells beside the text."""

    model_config = ConfigDict(strict=True)

    include_usage: bool | None = None


class TextFields(Settings):
    """A request for texts; None stands for the default. Fields that change nothing are accepted and not read.

    Attributes:
        model: the model's name.
        n: how many texts of each prompt.
        seed: from which all is drawn.
        stop: what ends a text.
        stream: whether it comes in pieces.
        stream_options: what else comes then.
        max_tokens: the most tokens of a text.
        response_format: what a text must be, in OpenAI's words: a text, any object of JSON, or a value of a schema.
        guided_choice, guided_json, guided_regex, guided_grammar: the same in vLLM's words: one of some texts, a value
            of a schema, what matches a pattern, what fits a Lark grammar.
    """

    model_config = ConfigDict(extra="allow")

    model: str
    n: Annotated[int, Field(ge=1, le=MOST_CHOICES)] | None = None
    seed: Annotated[int, Field(ge=-(2**63), lt=2**64)] | None = None
    stop: Stop | Stops | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    max_tokens: MaxTokens | None = None
    response_format: Any = None
    guided_choice: Any = None
    guided_json: Any = None
    guided_regex: Any = None
    guided_grammar: Any = None

    @property
    def tells_usage(self) -> bool:
        """Whether a stream ends with the number of tokens."""
        return bool(self.stream_options and self.stream_options.include_usage)

    @property
    def guided(self) -> dict[str, Any]:
        """What a text must be, by the one field that says so; empty where it may be anything.

        The model's process reads the field, because that may take long.

        Raises:
            Failure: INVALID_ARGUMENT, there are several fields.
        """
        try:
            return requested({name: getattr(self, name) for name in READERS})
        except ServingError as error:
            failure = invalid(str(error))
            failure.parameter = error.where
            raise failure from None

    def check(self) -> None:
        """Refuse what this server does not know and must not pass over.

        Raises:
            Failure: INVALID_ARGUMENT, with the parameter.
        """
        for name in UNKNOWN:
            if self.model_extra.get(name):
                raise wrong(name, "this server does not know it; leave it out")

    def request(self, prompts: tuple[Any, ...], **settings: Any) -> Request:
        """Return the request to the model."""
        return Request(
            prompts=prompts,
            n=self.n or 1,
            seed=self.seed,
            stop=(self.stop,) if isinstance(self.stop, str) else self.stop or (),
            guided=self.guided,
            **{name: getattr(self, name) for name in Settings.model_fields},
            **settings,
        )


def wrong(parameter: str, message: str) -> Failure:
    """Make the failure of a parameter."""
    failure = invalid(f"{parameter}: {message}")
    failure.parameter = parameter
    return failure
