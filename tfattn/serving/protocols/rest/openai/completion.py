"""OpenAI's text completions."""

import math
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

from pydantic import Field

from tfattn.sampling_params import NumTexts, SamplingParams
from tfattn.serving.generation.output import OutputChunk, Token
from tfattn.serving.generation.request import MAX_PROMPTS, Request
from tfattn.serving.protocols.rest.openai.fields import TextFields
from tfattn.serving.protocols.rest.openai.response_builder import ResponseBuilder, decode_token, joined_tokens
from tfattn.serving.protocols.rest.response import invalid_parameter

Texts = Annotated[tuple[str, ...], Field(min_length=1, max_length=MAX_PROMPTS)]
TokenIds = Annotated[tuple[int, ...], Field(min_length=1)]
TokenIdLists = Annotated[tuple[TokenIds, ...], Field(min_length=1, max_length=MAX_PROMPTS)]


class CompletionFields(TextFields):
    """A request to /v1/completions.

    Attributes:
        prompt: a text, token ids, or a list of either.
        echo: whether to return the prompt before the generated text.
        best_of: the number of texts to generate for each prompt; the n most probable texts are returned.
    """

    prompt: str | Texts | TokenIds | TokenIdLists = ""
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
        if self.echo and not all(isinstance(prompt, str) for prompt in prompts):
            raise invalid_parameter("echo", "requires prompts that are texts")
        if self.echo and self.logprobs is not None:
            raise invalid_parameter(
                "echo", "the tokens of a prompt have no log-probabilities; ask for one or the other"
            )
        returned = self.n or 1
        written = self.best_of or returned
        if written < returned:
            raise invalid_parameter("best_of", f"expected at least n, {returned}, received {written}")
        if written > returned and self.stream:
            raise invalid_parameter("best_of", "the best texts are known at the end: expected stream to be false")
        ranked = 0 if written > returned and self.logprobs is None else self.logprobs
        limit = self.max_tokens or SamplingParams.max_tokens
        request = self.request(prompts, n=written, max_tokens=limit, logprobs=ranked)
        has_logprobs = self.logprobs is not None
        options = {"echo": bool(self.echo), "best": returned, "has_logprobs": has_logprobs}
        return request, CompletionResponseBuilder(self.model, request, **options)


class CompletionResponseBuilder(ResponseBuilder):
    """The builder of the response to a completion.

    Args:
        model, request: see `ResponseBuilder`.
        echo: whether each text starts with its prompt.
        best: the number of texts to return for each prompt: the texts with the highest mean log-probability per token.
        has_logprobs: whether to return the log-probabilities of tokens.
    """

    object_type = piece_object_type = "text_completion"
    prefix = "cmpl"

    def __init__(self, model: str, request: Request, *, echo: bool, best: int, has_logprobs: bool):
        super().__init__(model, request)
        self._best, self._has_logprobs = best, has_logprobs
        texts = request.prompts if echo else [""] * len(request.prompts)
        self._echoes = {
            number * request.n + choice: text for number, text in enumerate(texts) for choice in range(self._n)
        }
        self._lengths = dict.fromkeys(self._echoes, 0)

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

    def piece_choice(self, piece: OutputChunk) -> dict[str, Any]:
        return self._choice(piece.index, piece.text, piece.tokens, piece.finish_reason)

    def _choice(self, index: int, text: str, tokens: Sequence[Token], finish_reason: str | None) -> dict[str, Any]:
        return {
            "index": index,
            "text": self._echo(index) + text,
            "logprobs": self._logprobs(index, tokens) if self._has_logprobs else None,
            "finish_reason": finish_reason,
        }

    def _echo(self, index: int) -> str:
        if not self._echoes:
            return ""
        echo, self._echoes[index] = self._echoes[index], ""
        return echo

    def _logprobs(self, index: int, tokens: Sequence[Token]) -> dict[str, Any]:
        offsets = []
        for token in tokens:
            offsets.append(self._lengths[index])
            self._lengths[index] += len(decode_token(token.text))
        return {
            "tokens": [decode_token(token.text) for token in tokens],
            "token_logprobs": [token.log_probability for token in tokens],
            "top_logprobs": [{decode_token(text): value for text, value in token.top_logprobs} for token in tokens],
            "text_offset": offsets,
        }


def _mean_log_probability(pieces: Sequence[OutputChunk]) -> float:
    tokens = joined_tokens(pieces)
    return sum(token.log_probability for token in tokens) / len(tokens) if tokens else -math.inf
