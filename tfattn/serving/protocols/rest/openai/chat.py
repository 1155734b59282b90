"""OpenAI's chat completions."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from tfattn.sampling_params import MAX_INT, MaxTokens, NumLogprobs
from tfattn.serving.generation.output import OutputChunk, Token
from tfattn.serving.generation.request import ChatMessage, Request
from tfattn.serving.protocols.rest.openai.fields import TextFields
from tfattn.serving.protocols.rest.openai.response_builder import ResponseBuilder, decode_token, joined_tokens
from tfattn.serving.protocols.rest.response import invalid_parameter

ROLES = {"developer": "system"}  # OpenAI's newer name


class TextPart(BaseModel):
    """A text part of a message."""

    model_config = ConfigDict(strict=True)

    type: Literal["text"]
    text: str


class MessageFields(BaseModel):
    """A message. The `name` of its author is ignored."""

    model_config = ConfigDict(strict=True)

    role: Literal["system", "developer", "user", "assistant"]
    content: str | tuple[TextPart, ...]

    @property
    def message(self) -> ChatMessage:
        """Return the message for the model."""
        parts = self.content if isinstance(self.content, str) else "".join(part.text for part in self.content)
        return ChatMessage(role=ROLES.get(self.role, self.role), content=parts)


class ChatFields(TextFields):
    """A request to /v1/chat/completions.

    Attributes:
        messages: the messages of the chat.
        max_completion_tokens: OpenAI's newer name of max_tokens.
        logprobs: whether to return the log-probability of each token.
        top_logprobs: the number of most likely tokens to return for each position.
    """

    messages: Annotated[tuple[MessageFields, ...], Field(min_length=1)]
    max_completion_tokens: MaxTokens | None = None
    logprobs: bool | None = None
    top_logprobs: NumLogprobs | None = None

    prompt_name: ClassVar[str] = "messages"

    def model_request(self) -> tuple[Request, ResponseBuilder]:
        """Return the request to the model and the builder of its response.

        Raises:
            Failure: INVALID_ARGUMENT, with the parameter.
        """
        if self.top_logprobs is not None and not self.logprobs:
            raise invalid_parameter("top_logprobs", "requires logprobs to be true")
        request = self.request(
            (tuple(message.message for message in self.messages),),
            max_tokens=self.max_completion_tokens or self.max_tokens or MAX_INT,
            logprobs=(self.top_logprobs or 0) if self.logprobs else None,
        )
        return request, ChatResponseBuilder(self.model, request)


class ChatResponseBuilder(ResponseBuilder):
    """The builder of the response to a chat."""

    object_type, piece_object_type = "chat.completion", "chat.completion.chunk"
    prefix = "chatcmpl"

    def __init__(self, model: str, request: Request):
        super().__init__(model, request)
        self._has_logprobs = request.logprobs is not None

    def first_events(self) -> list[bytes]:
        delta = {"role": "assistant", "content": ""}
        return [
            self._event([{"index": index, "delta": delta, "logprobs": None, "finish_reason": None}], {})
            for index in range(self._num_texts)
        ]

    def choice(self, pieces: Sequence[OutputChunk]) -> dict[str, Any]:
        content = "".join(piece.text for piece in pieces)
        return {
            "index": pieces[-1].index,
            "message": {"role": "assistant", "content": content, "refusal": None},
            "logprobs": self._logprobs(joined_tokens(pieces)),
            "finish_reason": pieces[-1].finish_reason,
        }

    def piece_choice(self, piece: OutputChunk) -> dict[str, Any]:
        return {
            "index": piece.index,
            "delta": {"content": piece.text} if piece.text else {},
            "logprobs": self._logprobs(piece.tokens),
            "finish_reason": piece.finish_reason,
        }

    def _logprobs(self, tokens: Sequence[Token]) -> dict[str, Any] | None:
        if not self._has_logprobs:
            return None
        return {"content": [self._token(token) for token in tokens], "refusal": None}

    def _token(self, token: Token) -> dict[str, Any]:
        top_logprobs = [_token_entry(text, value) for text, value in token.top_logprobs]
        return {**_token_entry(token.text, token.log_probability), "top_logprobs": top_logprobs}


def _token_entry(text: str, log_probability: float) -> dict[str, Any]:
    return {"token": decode_token(text), "logprob": log_probability, "bytes": list(text.encode("latin-1"))}
