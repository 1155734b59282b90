"""The fields that requests for completions and for chats have in common."""

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
from tfattn.serving.protocols.rest.openai.form import NAMES, Form

# Fields that the model's request has, too.
SAME = ("seed", "min_tokens", "stop_token_ids", "ignore_eos", "bad_words", "allowed_token_ids", "logit_bias")

MaxTokens = Annotated[int, Field(ge=1)]


class StreamOptions(BaseModel):
    """What a stream tells beside the text."""

    model_config = ConfigDict(strict=True)

    include_usage: bool | None = None


class TextFields(Settings):
    """A request for texts; None means the default. Other fields are looked up in `other_fields`.

    Attributes:
        model: the model's name.
        n: how many texts of each prompt.
        seed: from which all is drawn.
        stop: what ends a text.
        stream: whether it comes in pieces.
        stream_options: what else comes then.
        max_tokens: the most tokens of a text.
        min_tokens, stop_token_ids, ignore_eos, bad_words, allowed_token_ids, logit_bias: as of `Request`.
        strict: whether fields that the server does not know are refused.
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
    def tells_usage(self) -> bool:
        """Whether a stream ends with the number of tokens."""
        return bool(self.stream_options and self.stream_options.include_usage)

    @cached_property
    def form(self) -> Form:
        """What a text must be."""
        return Form.of(self.model_extra)

    def unknown(self) -> list[str]:
        """Return the fields that the server does not know.

        Raises:
            Failure: INVALID_ARGUMENT, with the parameter: it would change the answer, or the request is strict.
        """
        others = {name: value for name, value in self.model_extra.items() if name not in NAMES}
        return other_fields.check(others, strict=bool(self.strict))

    def located(self, failure: Failure) -> Failure:
        """Name the parameter that the model refuses: the one at the beginning of its message, or else the prompt."""
        name = re.match(r"\w*", failure.message)[0]
        if name in self.form.guided:
            return self.form.located(failure)
        failure.parameter = name if name in type(self).model_fields else self.prompt_name
        return failure

    def request(self, prompts: tuple[Any, ...], *, max_new_tokens: int, **settings: Any) -> Request:
        """Return the request to the model.

        Raises:
            Failure: INVALID_ARGUMENT, with the parameter.
        """
        if self.stream_options is not None and not self.stream:
            raise invalid_parameter("stream_options", "expected only where stream is true")
        if (self.min_tokens or 0) > max_new_tokens:
            raise invalid_parameter(
                "min_tokens", f"expected at most max_tokens, {max_new_tokens}, received {self.min_tokens}"
            )
        same = (*Settings.model_fields, *SAME)
        given = {name: value for name in same if (value := getattr(self, name)) is not None}
        stop = (self.stop,) if isinstance(self.stop, str) else self.stop or ()
        form = {"guided": dict(self.form.guided), "stop": stop}
        return Request(prompts=prompts, max_new_tokens=max_new_tokens, **({"n": self.n or 1} | given | form | settings))
