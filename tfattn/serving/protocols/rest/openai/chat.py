"""Chats: answers to messages."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from tfattn.serving.generation.output import OutputChunk, Token
from tfattn.serving.generation.request import MAX_TOP_LOGPROBS, ChatMessage, Request
from tfattn.serving.protocols.rest.openai.answer import Answer, shown, tokens_of
from tfattn.serving.protocols.rest.openai.errors import invalid_parameter
from tfattn.serving.protocols.rest.openai.fields import MaxTokens, TextFields

ROLES = {"developer": "system"}  # OpenAI's newer word


class TextPart(BaseModel):
    """A part of what is said."""

    model_config = ConfigDict(strict=True)

    type: Literal["text"]
    text: str


class MessageFields(BaseModel):
    """A message; names of who speaks are not read."""

    model_config = ConfigDict(strict=True)

    role: Literal["system", "developer", "user", "assistant"]
    content: str | tuple[TextPart, ...]

    @property
    def message(self) -> ChatMessage:
        """Return what the model reads."""
        parts = self.content if isinstance(self.content, str) else "".join(part.text for part in self.content)
        return ChatMessage(role=ROLES.get(self.role, self.role), content=parts)


class ChatFields(TextFields):
    """A request to /v1/chat/completions.

    Attributes:
        messages: of the chat so far.
        max_completion_tokens: OpenAI's newer word for max_tokens.
        logprobs: whether the probability of each token is told.
        top_logprobs: the number of most likely tokens to report for each position.
    """

    messages: Annotated[tuple[MessageFields, ...], Field(min_length=1)]
    max_completion_tokens: MaxTokens | None = None
    logprobs: bool | None = None
    top_logprobs: Annotated[int, Field(ge=0, le=MAX_TOP_LOGPROBS)] | None = None

    prompt_name: ClassVar[str] = "messages"

    def answer(self) -> tuple[Request, Answer]:
        """Return what is asked of the model, and what is answered with.

        Raises:
            Failure: INVALID_ARGUMENT, with the parameter.
        """
        if self.top_logprobs is not None and not self.logprobs:
            raise invalid_parameter("top_logprobs", "it needs logprobs to be true")
        request = self.request(
            (tuple(one.message for one in self.messages),),
            max_new_tokens=self.max_completion_tokens or self.max_tokens or 2**31 - 1,
            top_logprobs=(self.top_logprobs or 0) if self.logprobs else None,
        )
        return request, Chat(self.model, request)


class Chat(Answer):
    """The answer to it."""

    kind, piece_kind = "chat.completion", "chat.completion.chunk"
    prefix = "chatcmpl"

    def __init__(self, model: str, request: Request):
        super().__init__(model, request)
        self._has_probabilities = request.top_logprobs is not None

    def begin(self) -> list[bytes]:
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
            "logprobs": self._probabilities(tokens_of(pieces)),
            "finish_reason": pieces[-1].finish_reason,
        }

    def piece_choice(self, piece: OutputChunk) -> dict[str, Any]:
        return {
            "index": piece.index,
            "delta": {"content": piece.text} if piece.text else {},
            "logprobs": self._probabilities(piece.tokens),
            "finish_reason": piece.finish_reason,
        }

    def _probabilities(self, tokens: Sequence[Token]) -> dict[str, Any] | None:
        if not self._has_probabilities:
            return None
        return {"content": [self._token(token) for token in tokens], "refusal": None}

    def _token(self, token: Token) -> dict[str, Any]:
        likeliest = [_told(text, value) for text, value in token.top_logprobs]
        return {**_told(token.text, token.log_probability), "top_logprobs": likeliest}


def _told(text: str, log_probability: float) -> dict[str, Any]:
    return {"token": shown(text), "logprob": log_probability, "bytes": list(text.encode("latin-1"))}
