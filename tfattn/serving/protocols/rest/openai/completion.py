"""OpenAI's text completions."""

import math
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

from pydantic import Field

from tfattn.sampling_params import RANGES, NumTexts, SamplingParams
from tfattn.serving.generation.output import OutputChunk, Token
from tfattn.serving.generation.request import MAX_PROMPTS, NumTokens, Request
from tfattn.serving.protocols.rest.openai.fields import TextFields
from tfattn.serving.protocols.rest.openai.response_builder import (
    ChoicesBuilder,
    ResponseBuilder,
    decode_token,
    joined_tokens,
)
from tfattn.serving.protocols.rest.response import invalid_parameter

Texts = Annotated[tuple[str, ...], Field(min_length=1, max_length=MAX_PROMPTS)]
TokenIds = Annotated[tuple[int, ...], Field(min_length=1)]
TokenIdLists = Annotated[tuple[TokenIds, ...], Field(min_length=1, max_length=MAX_PROMPTS)]


class CompletionFields(TextFields):
    """A request to /v1/completions.

    Attributes:
        prompt: a text, token ids, or a list of either.
        max_tokens: the maximum number of generated tokens; 0 with `echo` to return the prompt alone.
        echo: whether to return the prompt before the generated text, with its log-probabilities if `logprobs` is set.
        best_of: the number of texts to generate for each prompt; the n most probable texts are returned.
    """

    prompt: str | Texts | TokenIds | TokenIdLists = ""
    max_tokens: NumTokens | None = None
    echo: bool | None = None
    best_of: NumTexts | None = None

    prompt_name: ClassVar[str] = "prompt"

    def model_request(self) -> tuple[Request, ResponseBuilder]:
        """Return the request to the model and the builder of its response.

        Raises:
            Failure: INVALID_ARGUMENT, with the parameter.
        """
        is_single = isinstance(self.prompt, str) or isinstance(self.prompt[0], int)
        prompts = (self.prompt,) if is_single else self.prompt
        if self.max_tokens == 0 and not self.echo:
            raise invalid_parameter("max_tokens", f"expected {RANGES['max_tokens']}, or 0 with echo, received 0")
        returned = self.n or 1
        written = self.best_of or returned
        if written < returned:
            raise invalid_parameter("best_of", f"expected at least n, {returned}, received {written}")
        if written > returned and self.stream:
            raise invalid_parameter("best_of", "the best texts are known at the end: expected stream to be false")
        ranked = 0 if written > returned and self.logprobs is None else self.logprobs
        limit = SamplingParams.max_tokens if self.max_tokens is None else self.max_tokens
        request = self.request(prompts, n=written, max_tokens=limit, logprobs=ranked, echo=bool(self.echo))
        options = {"include_usage": self.include_usage, "best": returned, "has_logprobs": self.logprobs is not None}
        return request, CompletionBuilder(self.model, request, **options)


class CompletionBuilder(ChoicesBuilder):
    """The builder of the response to a completion.

    Args:
        model, request, include_usage: see `ChoicesBuilder`.
        best: the number of texts to return for each prompt: the texts with the highest mean log-probability per token.
        has_logprobs: whether to return the log-probabilities of tokens.
    """

    object_type = piece_object_type = "text_completion"
    prefix = "cmpl"

    def __init__(self, model: str, request: Request, *, include_usage: bool, best: int, has_logprobs: bool):
        super().__init__(model, request, include_usage=include_usage)
        self._best, self._has_logprobs = best, has_logprobs
        self._lengths = dict.fromkeys(range(self._num_texts), 0)

    def select(self, texts: list[list[OutputChunk]]) -> list[list[OutputChunk]]:
        if self._best == self._n:
            return texts
        by_prompt = [texts[start : start + self._n] for start in range(0, len(texts), self._n)]
        return [text for group in by_prompt for text in sorted(group, key=_mean_log_probability)[-self._best :][::-1]]

    def choice(self, pieces: Sequence[OutputChunk]) -> dict[str, Any]:
        last = pieces[-1]
        return self._choice(
            last.index, "".join(piece.text for piece in pieces), joined_tokens(pieces), last.finish_reason
        )

    def piece_choices(self, piece: OutputChunk) -> list[dict[str, Any]]:
        return [self._choice(piece.index, piece.text, piece.tokens, piece.finish_reason)]

    def _choice(self, index: int, text: str, tokens: Sequence[Token], finish_reason: str | None) -> dict[str, Any]:
        return {
            "index": index,
            "text": text,
            "logprobs": self._logprobs(index, tokens) if self._has_logprobs else None,
            "finish_reason": finish_reason,
        }

    def _logprobs(self, index: int, tokens: Sequence[Token]) -> dict[str, Any]:
        offsets = []
        for token in tokens:
            offsets.append(self._lengths[index])
            self._lengths[index] += len(decode_token(token.text))
        return {
            "tokens": [decode_token(token.text) for token in tokens],
            "token_logprobs": [token.log_probability for token in tokens],
            "top_logprobs": [None if token.log_probability is None else _top_logprobs(token) for token in tokens],
            "text_offset": offsets,
        }


def _top_logprobs(token: Token) -> dict[str, float]:
    """Return the top tokens; of several with the same text, such as parts of characters, the most likely."""
    return {decode_token(text): value for text, value in reversed(token.top_logprobs)}


def _mean_log_probability(pieces: Sequence[OutputChunk]) -> float:
    tokens = joined_tokens([piece for piece in pieces if not piece.is_prompt])
    return sum(token.log_probability for token in tokens) / len(tokens) if tokens else -math.inf
