"""The fields that completions and chat completions share."""

import re
from functools import cached_property
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from tfattn.serving.api.failure import Failure
from tfattn.serving.generation.request import (
    MAX_CHOICES,
    AllowedTokenIds,
    BadWords,
    LogitBias,
    Request,
    Settings,
    Stop,
    Stops,
    TokenIds,
)
from tfattn.serving.protocols.rest.openai import other_fields
from tfattn.serving.protocols.rest.openai.errors import invalid_parameter
from tfattn.serving.protocols.rest.openai.guided_field import NAMES, GuidedField

# Fields that are passed to the model's request.
SHARED_FIELDS = ("seed", "min_tokens", "stop_token_ids", "ignore_eos", "bad_words", "allowed_token_ids", "logit_bias")

MaxTokens = Annotated[int, Field(ge=1)]


class StreamOptions(BaseModel):
    """The options of a stream."""

    model_config = ConfigDict(strict=True)

    include_usage: bool | None = None


class TextFields(Settings):
    """A request for generated text. None is the default of a field; `other_fields` checks further fields.

    Attributes:
        model: the model's name.
        n: the number of texts for each prompt.
        seed: the seed of sampling.
        stop: the strings that end a text.
        stream: whether to stream the response.
        stream_options: the options of the stream.
        max_tokens: the maximum number of tokens of a text.
        min_tokens, stop_token_ids, ignore_eos, bad_words, allowed_token_ids, logit_bias: see `Request`.
        strict: whether to refuse unknown fields.
    """

    model_config = ConfigDict(extra="allow")

    prompt_name: ClassVar[str]

    model: str
    n: Annotated[int, Field(ge=1, le=MAX_CHOICES)] | None = None
    seed: Annotated[int, Field(ge=-(2**63), lt=2**64)] | None = None
    stop: Stop | Stops | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    max_tokens: MaxTokens | None = None
    min_tokens: Annotated[int, Field(ge=0)] | None = None
    stop_token_ids: TokenIds | None = None
    ignore_eos: bool | None = None
    bad_words: BadWords | None = None
    allowed_token_ids: AllowedTokenIds | None = None
    logit_bias: LogitBias | None = None
    strict: bool | None = None

    @property
    def include_usage(self) -> bool:
        """Whether a stream ends with the numbers of tokens."""
        return bool(self.stream_options and self.stream_options.include_usage)

    @cached_property
    def guided_field(self) -> GuidedField:
        """The constraint on the text."""
        return GuidedField.of(self.model_extra)

    def unknown_fields(self) -> list[str]:
        """Return the names of unknown fields.

        Raises:
            Failure: INVALID_ARGUMENT with the parameter, if a field is not supported, or unknown and `strict` is set.
        """
        others = {name: value for name, value in self.model_extra.items() if name not in NAMES}
        return other_fields.check(others, strict=bool(self.strict))

    def with_location(self, failure: Failure) -> Failure:
        """Set the parameter of a failure: the parameter at the start of its message, or else the prompt."""
        name = re.match(r"\w*", failure.message)[0]
        if name in self.guided_field.guided:
            return self.guided_field.with_location(failure)
        failure.parameter = name if name in type(self).model_fields else self.prompt_name
        return failure

    def request(self, prompts: tuple[Any, ...], *, max_new_tokens: int, **settings: Any) -> Request:
        """Create the request to the model.

        Raises:
            Failure: INVALID_ARGUMENT, with the parameter.
        """
        if self.stream_options is not None and not self.stream:
            raise invalid_parameter("stream_options", "requires stream to be true")
        if (self.min_tokens or 0) > max_new_tokens:
            raise invalid_parameter(
                "min_tokens", f"expected at most max_tokens, {max_new_tokens}, received {self.min_tokens}"
            )
        names = (*Settings.model_fields, *SHARED_FIELDS)
        given = {name: value for name in names if (value := getattr(self, name)) is not None}
        stop = (self.stop,) if isinstance(self.stop, str) else self.stop or ()
        options = {"n": self.n or 1} | given | {"guided": dict(self.guided_field.guided), "stop": stop} | settings
        return Request(prompts=prompts, max_new_tokens=max_new_tokens, **options)
