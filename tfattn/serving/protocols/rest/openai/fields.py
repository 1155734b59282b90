"""The fields that completions and chat completions share."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from tfattn.errors import listed
from tfattn.guidance.grammar import READERS, TOOL_CALLS, guiding_field
from tfattn.sampling_params import Stop, Stops
from tfattn.serving.api.failure import Failure
from tfattn.serving.generation.request import AllowedTokenIds, BadWords, LogitBias, Request, Settings, TokenIds
from tfattn.serving.protocols.rest.openai import other_fields
from tfattn.serving.protocols.rest.response import invalid_parameter

# vLLM's object, with the guided_* field of each entry, and the field of llama.cpp for a schema.
STRUCTURED_OUTPUTS, JSON_SCHEMA = "structured_outputs", "json_schema"
ENTRIES = {"json": "guided_json", "regex": "guided_regex", "choice": "guided_choice", "grammar": "guided_grammar"}
JSON_OBJECT = {"type": "json_object"}
GUIDING = tuple(name for name in READERS if name != TOOL_CALLS)
NAMES = frozenset({STRUCTURED_OUTPUTS, JSON_SCHEMA, *GUIDING})


@dataclass(frozen=True)
class GuidedField:
    """The constraint on a generated text.

    Attributes:
        parameter: the name of the request's field; empty without a constraint.
        path: the path of the value in the request, such as "structured_outputs.json".
        guided: the constraint as a guided_* field; empty without a constraint.
    """

    parameter: str = ""
    path: str = ""
    guided: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> "GuidedField":
        """Find the constraint in the fields of a request; ignore other fields.

        Raises:
            Failure: INVALID_ARGUMENT with the parameter, if several fields constrain the text.
        """
        names = (*GUIDING, STRUCTURED_OUTPUTS, JSON_SCHEMA)
        found = [constraint for name in names for constraint in _read(name, fields.get(name))]
        if len(found) > 1:
            received = listed(constraint.parameter for constraint in found)
            raise invalid_parameter(found[-1].parameter, f"only one field can guide a text, received {received}")
        return found[0] if found else cls()

    def with_location(self, failure: Failure) -> Failure:
        """Replace the name of the guided_* field in a failure's message with the path in the request."""
        for name in self.guided:
            failure.parameter, failure.message = self.parameter, self.path + failure.message.removeprefix(name)
        return failure


def _read(name: str, value: Any) -> list[GuidedField]:
    if value is None:
        return []
    if name == JSON_SCHEMA:
        return [GuidedField(name, name, {"guided_json": value})]
    if name == STRUCTURED_OUTPUTS:
        return [_entry(value)]
    is_object = isinstance(value, dict) and value.get("type") == "json_object"
    if name == "response_format" and is_object and "schema" in value:  # llama.cpp's
        return [GuidedField(name, f"{name}.schema", {"guided_json": value["schema"]})]
    guided = guiding_field({name: value})
    return [GuidedField(name, name, guided)] if guided else []


def _entry(value: Any) -> GuidedField:
    given = value if isinstance(value, dict) else {}
    entries = {name: entry for name, entry in given.items() if entry not in (None, False)}
    known = {name: reader for name, reader in ENTRIES.items() if reader in READERS}
    if unknown := entries.keys() - known.keys() - {"json_object"}:
        message = f"this server does not support {listed(sorted(unknown))}; use {listed([*known, 'json_object'])}"
        raise invalid_parameter(STRUCTURED_OUTPUTS, message, error_code="unsupported_parameter")
    if len(entries) != 1:
        raise invalid_parameter(STRUCTURED_OUTPUTS, f"expected an object with one of {listed([*known, 'json_object'])}")
    ((name, entry),) = entries.items()
    guided = {"response_format": JSON_OBJECT} if name == "json_object" else {known[name]: entry}
    return GuidedField(STRUCTURED_OUTPUTS, f"{STRUCTURED_OUTPUTS}.{name}", guided)


# Fields that are passed to the model's request as they are.
RULES = ("min_tokens", "stop_token_ids", "ignore_eos", "bad_words", "allowed_token_ids", "logit_bias")


class StreamOptions(BaseModel):
    """The options of a stream."""

    model_config = ConfigDict(strict=True)

    include_usage: bool | None = None
    # Fields of OpenAI and vLLM that this server does not have.
    include_obfuscation: Literal[False] | None = None
    continuous_usage_stats: Literal[False] | None = None


class TextFields(Settings):
    """A request for generated text, with the fields of `SamplingParams`.

    None is the default of a field; `other_fields` checks further fields.

    Attributes:
        model: the model's name.
        stop: a string that ends a text, or several.
        stream: whether to stream the response.
        stream_options: the options of the stream.
        min_tokens, stop_token_ids, ignore_eos, bad_words, allowed_token_ids, logit_bias: see `Request`.
        strict: whether to refuse unknown fields.
    """

    model_config = ConfigDict(extra="allow")

    prompt_name: ClassVar[str]

    model: str
    stop: Stop | Stops | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
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

    def request(self, prompts: tuple[Any, ...], *, max_tokens: int, **settings: Any) -> Request:
        """Create the request to the model; `settings` replace fields.

        Raises:
            Failure: INVALID_ARGUMENT, with the parameter.
        """
        if self.stream_options is not None and not self.stream:
            raise invalid_parameter("stream_options", "requires stream to be true")
        if (self.min_tokens or 0) > max_tokens:
            message = f"expected at most max_tokens, {max_tokens}, received {self.min_tokens}"
            raise invalid_parameter("min_tokens", message)
        stop = (self.stop,) if isinstance(self.stop, str) else self.stop
        fields = {name: getattr(self, name) for name in (*Settings.model_fields, *RULES)}
        fields |= {"stop": stop, "max_tokens": max_tokens, **settings}
        given = {name: value for name, value in fields.items() if value is not None}
        return Request(prompts=prompts, guided=dict(self.guided_field.guided), **given)
