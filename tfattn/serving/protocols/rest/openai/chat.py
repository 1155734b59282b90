"""OpenAI's chat completions."""

from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from typing import Annotated, Any, ClassVar

from pydantic import Field

from tfattn.formats.tool_calls import Delta, ToolCallParser
from tfattn.sampling_params import MAX_INT, MaxTokens, NumLogprobs
from tfattn.serving.generation.output import FinishReason, OutputChunk, Token
from tfattn.serving.generation.request import Request
from tfattn.serving.protocols.rest.openai.fields import GuidedField, TextFields
from tfattn.serving.protocols.rest.openai.messages import MessageFields, chat_messages
from tfattn.serving.protocols.rest.openai.response_builder import (
    ChoicesBuilder,
    ResponseBuilder,
    decode_token,
    joined_tokens,
    new_id,
)
from tfattn.serving.protocols.rest.openai.tools import ToolChoice, Tools, ToolUse, tool_use
from tfattn.serving.protocols.rest.response import invalid_parameter


class ChatFields(TextFields):
    """A request to /v1/chat/completions.

    Attributes:
        messages: the messages of the chat.
        max_completion_tokens: OpenAI's newer name of max_tokens.
        logprobs: whether to return the log-probability of each token, tokens of calls included.
        top_logprobs: the number of most likely tokens to return for each position.
        tools: the functions that the model may call.
        tool_choice: whether it calls none, may call some ("auto"), or must call one ("required" or a named function).
        parallel_tool_calls: whether it may call several at once; it may by default.
    """

    messages: Annotated[tuple[MessageFields, ...], Field(min_length=1)]
    max_completion_tokens: MaxTokens | None = None
    logprobs: bool | None = None
    top_logprobs: NumLogprobs | None = None
    tools: Tools | None = None
    tool_choice: ToolChoice | None = None
    parallel_tool_calls: bool | None = None

    prompt_name: ClassVar[str] = "messages"

    @cached_property
    def tool_use(self) -> ToolUse:
        """The use of tools."""
        return tool_use(self.tools or (), self.tool_choice, self.parallel_tool_calls)

    @cached_property
    def guided_field(self) -> GuidedField:
        return self.tool_use.guided_field(super().guided_field)

    def model_request(self) -> tuple[Request, ResponseBuilder]:
        """Return the request to the model and the builder of its response.

        Raises:
            Failure: INVALID_ARGUMENT, with the parameter.
        """
        if self.top_logprobs is not None and not self.logprobs:
            raise invalid_parameter("top_logprobs", "requires logprobs to be true")
        request = self.request(
            (chat_messages(self.messages, parameter="messages"),),
            max_tokens=self.max_completion_tokens or self.max_tokens or MAX_INT,
            logprobs=(self.top_logprobs or 0) if self.logprobs else None,
            tools=self.tool_use.descriptions,
        )
        has_calls = self.tool_use.mode != "none"
        return request, ChatBuilder(self.model, request, include_usage=self.include_usage, has_calls=has_calls)


class ChatBuilder(ChoicesBuilder):
    """The builder of the response to a chat.

    Args:
        model, request, include_usage: see `ChoicesBuilder`.
        has_calls: whether the answer may call tools.
    """

    object_type, piece_object_type = "chat.completion", "chat.completion.chunk"
    prefix = "chatcmpl"

    def __init__(self, model: str, request: Request, *, include_usage: bool, has_calls: bool):
        super().__init__(model, request, include_usage=include_usage)
        self._has_logprobs, self._has_calls = request.logprobs is not None, has_calls
        self._parsers: defaultdict[int, ToolCallParser] = defaultdict(ToolCallParser)

    def first_events(self) -> bytes:
        delta = {"role": "assistant", "content": ""}
        choices = [
            {"index": index, "delta": delta, "logprobs": None, "finish_reason": None}
            for index in range(self._num_texts)
        ]
        return b"".join(self._event([choice]) for choice in choices)

    def choice(self, pieces: Sequence[OutputChunk]) -> dict[str, Any]:
        deltas = [delta for piece in pieces for delta in self._deltas(piece)]
        message: dict[str, Any] = {"role": "assistant", "content": "".join(delta.content for delta in deltas)}
        starts = [delta for delta in deltas if delta.name]
        if starts:
            message["content"] = message["content"] or None
            message["tool_calls"] = [
                _call(start.name, "".join(delta.arguments for delta in deltas if delta.index == start.index))
                for start in starts
            ]
        return {
            "index": pieces[-1].index,
            "message": {**message, "refusal": None},
            "logprobs": self._logprobs(joined_tokens(pieces)),
            "finish_reason": self._finish_reason(pieces[-1]),
        }

    def piece_choices(self, piece: OutputChunk) -> list[dict[str, Any]]:
        deltas = [_delta(delta) for delta in self._deltas(piece)]
        if not deltas and (piece.finish_reason or piece.tokens):
            deltas = [{}]
        choices = [{"index": piece.index, "delta": delta, "logprobs": None, "finish_reason": None} for delta in deltas]
        if choices:
            choices[0]["logprobs"] = self._logprobs(piece.tokens)
            choices[-1]["finish_reason"] = self._finish_reason(piece)
        return choices

    def _deltas(self, piece: OutputChunk) -> list[Delta]:
        """Return the new parts of an answer."""
        if not self._has_calls:
            return [Delta(piece.text)] if piece.text else []
        parser = self._parsers[piece.index]
        return [*parser.add(piece.text), *(parser.end() if piece.finish_reason else [])]

    def _finish_reason(self, piece: OutputChunk) -> FinishReason | str | None:
        return (
            "tool_calls"
            if self._parsers[piece.index].num_calls and piece.finish_reason == "stop"
            else piece.finish_reason
        )

    def _logprobs(self, tokens: Sequence[Token]) -> dict[str, Any] | None:
        if not self._has_logprobs:
            return None
        return {"content": [self._token(token) for token in tokens], "refusal": None}

    def _token(self, token: Token) -> dict[str, Any]:
        top_logprobs = [_token_entry(text, value) for text, value in token.top_logprobs]
        return {**_token_entry(token.text, token.log_probability), "top_logprobs": top_logprobs}


def _call(name: str, arguments: str) -> dict[str, Any]:
    return {"id": new_id("call"), "type": "function", "function": {"name": name, "arguments": arguments}}


def _delta(delta: Delta) -> dict[str, Any]:
    """Return a delta of a stream: content, the start of a call with its id and name, or a piece of its arguments."""
    if delta.index is None:
        return {"content": delta.content}
    call = _call(delta.name, "") if delta.name else {"function": {"arguments": delta.arguments}}
    return {"tool_calls": [{"index": delta.index, **call}]}


def _token_entry(text: str, log_probability: float) -> dict[str, Any]:
    return {"token": decode_token(text), "logprob": log_probability, "bytes": list(text.encode("latin-1"))}
