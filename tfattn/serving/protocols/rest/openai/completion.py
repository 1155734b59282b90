"""Completions: texts that go on with texts."""

import math
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

from pydantic import Field

from tfattn.serving.generation.output import OutputChunk, Token
from tfattn.serving.generation.request import MAX_CHOICES, MAX_PROMPTS, MAX_TOP_LOGPROBS, Request
from tfattn.serving.protocols.rest.openai.answer import Answer, shown, tokens_of
from tfattn.serving.protocols.rest.openai.errors import invalid_parameter
from tfattn.serving.protocols.rest.openai.fields import TextFields

USUAL_TOKENS = 16  # as OpenAI's server writes unless told otherwise

Texts = Annotated[tuple[str, ...], Field(min_length=1, max_length=MAX_PROMPTS)]
TokenIds = Annotated[tuple[int, ...], Field(min_length=1)]
ManyTokenIds = Annotated[tuple[TokenIds, ...], Field(min_length=1, max_length=MAX_PROMPTS)]


class CompletionFields(TextFields):
    """A request to /v1/completions.

    Attributes:
        prompt: a text, token ids, or several of either.
        logprobs: the number of most likely tokens to report for each position.
        echo: whether the text begins with its prompt.
        best_of: how many texts are written of each prompt, of which the n most probable are returned.
    """

    prompt: str | Texts | TokenIds | ManyTokenIds = ""
    logprobs: Annotated[int, Field(ge=0, le=MAX_TOP_LOGPROBS)] | None = None
    echo: bool | None = None
    best_of: Annotated[int, Field(ge=1, le=MAX_CHOICES)] | None = None

    prompt_name: ClassVar[str] = "prompt"

    def answer(self) -> tuple[Request, Answer]:
        """Return what is asked of the model, and what is answered with.

        Raises:
            Failure: INVALID_ARGUMENT, with the parameter.
        """
        is_one = isinstance(self.prompt, str) or isinstance(self.prompt[0], int)
        prompts = (self.prompt,) if is_one else self.prompt
        if self.echo and not all(isinstance(prompt, str) for prompt in prompts):
            raise invalid_parameter("echo", "only a prompt that is a text can be repeated")
        if self.echo and self.logprobs is not None:
            raise invalid_parameter(
                "echo", "the tokens of a prompt have no log-probabilities; ask for one or the other"
            )
        wanted = self.n or 1
        written = self.best_of or wanted
        if written < wanted:
            raise invalid_parameter("best_of", f"expected at least n, {wanted}, received {written}")
        if written > wanted and self.stream:
            raise invalid_parameter("best_of", "the best texts are known at the end: expected stream to be false")
        ranked = 0 if written > wanted and self.logprobs is None else self.logprobs
        request = self.request(prompts, n=written, max_new_tokens=self.max_tokens or USUAL_TOKENS, top_logprobs=ranked)
        has_probabilities = self.logprobs is not None
        options = {"echo": bool(self.echo), "best": wanted, "has_probabilities": has_probabilities}
        return request, Completion(self.model, request, **options)


class Completion(Answer):
    """The answer to it.

    Args:
        model, request: as of all answers.
        echo: whether each text begins with its prompt.
        best: how many texts of each prompt are returned: those with the highest mean log-probability of a token.
        has_probabilities: whether the probabilities of tokens are returned.
    """

    kind = piece_kind = "text_completion"
    prefix = "cmpl"

    def __init__(self, model: str, request: Request, *, echo: bool, best: int, has_probabilities: bool):
        super().__init__(model, request)
        self._best, self._has_probabilities = best, has_probabilities
        texts = request.prompts if echo else [""] * len(request.prompts)
        self._echoes = {
            number * request.n + choice: text for number, text in enumerate(texts) for choice in range(self._n)
        }
        self._lengths = dict.fromkeys(self._echoes, 0)

    def chosen(self, texts: list[list[OutputChunk]]) -> list[list[OutputChunk]]:
        if self._best == self._n:
            return texts
        by_prompt = [texts[start : start + self._n] for start in range(0, len(texts), self._n)]
        return [text for some in by_prompt for text in sorted(some, key=_mean_log_probability)[-self._best :][::-1]]

    def choice(self, pieces: Sequence[OutputChunk]) -> dict[str, Any]:
        last = pieces[-1]
        return self._choice(last.index, "".join(piece.text for piece in pieces), tokens_of(pieces), last.finish_reason)

    def piece_choice(self, piece: OutputChunk) -> dict[str, Any]:
        return self._choice(piece.index, piece.text, piece.tokens, piece.finish_reason)

    def _choice(self, index: int, text: str, tokens: Sequence[Token], finish_reason: str | None) -> dict[str, Any]:
        return {
            "index": index,
            "text": self._echo(index) + text,
            "logprobs": self._probabilities(index, tokens) if self._has_probabilities else None,
            "finish_reason": finish_reason,
        }

    def _echo(self, index: int) -> str:
        if not self._echoes:
            return ""
        echo, self._echoes[index] = self._echoes[index], ""
        return echo

    def _probabilities(self, index: int, tokens: Sequence[Token]) -> dict[str, Any]:
        offsets = []
        for token in tokens:
            offsets.append(self._lengths[index])
            self._lengths[index] += len(shown(token.text))
        return {
            "tokens": [shown(token.text) for token in tokens],
            "token_logprobs": [token.log_probability for token in tokens],
            "top_logprobs": [{shown(text): value for text, value in token.top_logprobs} for token in tokens],
            "text_offset": offsets,
        }


def _mean_log_probability(pieces: Sequence[OutputChunk]) -> float:
    tokens = tokens_of(pieces)
    return sum(token.log_probability for token in tokens) / len(tokens) if tokens else -math.inf
